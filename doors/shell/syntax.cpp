#include "doors/shell/syntax.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace orrery::doors::shell {

namespace {

constexpr int most_depth = 50;
constexpr std::array<std::string_view, 8> closing{"then", "elif", "else", "fi", "do", "done", "esac", "}"};
constexpr std::array<std::string_view, 5> declaring{"export", "declare", "local", "readonly", "typeset"};

template <class List>
bool contains(const List& list, std::string_view word) {
    return std::ranges::find(list, word) != list.end();
}

bool ends_word(char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0 ||
           std::string_view(";&|()<>").find(c) != std::string_view::npos;
}

class Parser {
public:
    explicit Parser(const Traced& source) : source_(source) {}

    Commands all() {
        Commands commands;
        while (!at_end()) {
            list(commands, 0);
            if (!at_end()) ++at_;  // a bracket or word that closes nothing
        }
        return commands;
    }

private:
    [[nodiscard]] bool at_end() const { return at_ >= source_.size(); }
    [[nodiscard]] char peek(std::size_t ahead = 0) const { return source_.at(at_ + ahead); }

    /// Blanks, continued lines and comments; newlines too where they mean nothing.
    void skip_blanks(bool newlines) {
        while (!at_end()) {
            const char c = peek();
            if (c == '\\' && peek(1) == '\n')
                at_ += 2;
            else if (c == '#')
                at_ = std::min(source_.text().find('\n', at_), source_.size());
            else if (c == '\n' && newlines)
                end_line();
            else if (c != '\n' && std::isspace(static_cast<unsigned char>(c)) != 0)
                ++at_;
            else
                return;
        }
    }

    /// Behind a line come the bodies of its here-documents, which no command line is made of.
    void end_line() {
        ++at_;
        for (const std::string& end : std::exchange(documents_, {})) {
            while (!at_end()) {
                const std::size_t stop = std::min(source_.text().find('\n', at_), source_.size());
                std::string_view line = std::string_view(source_.text()).substr(at_, stop - at_);
                at_ = std::min(stop + 1, source_.size());
                while (line.starts_with('\t')) line.remove_prefix(1);
                if (line == end) break;
            }
        }
    }

    Word word() {
        const std::size_t begin = at_;
        while (!at_end() && !ends_word(peek())) at_ = skip(source_, at_);
        return source_.part(begin, at_ - begin);
    }

    /// The word here, without taking it.
    std::string ahead() {
        const std::size_t begin = at_;
        const std::string text = word().text();
        at_ = begin;
        return text;
    }

    bool take(std::string_view keyword) {
        skip_blanks(true);
        if (ahead() != keyword) return false;
        at_ += keyword.size();
        return true;
    }

    /// Commands up to a word or bracket that closes what is around them.
    void list(Commands& to, int depth) {
        if (depth > most_depth)
            throw Error("", "", "commands are nested too deeply", "give the arguments themselves, after --");
        When when = When::always;
        while (true) {
            skip_blanks(true);
            if (at_end() || peek() == ')' || contains(closing, ahead())) return;
            if (peek() == ';' || peek() == '&' || peek() == '|') {
                if (peek() == ';' && peek(1) == ';') return;
                when = connector();
                continue;
            }
            const std::size_t begin = at_;
            Command command = this->command(depth);
            command.when = std::exchange(when, When::always);
            to.push_back(std::move(command));
            if (at_ == begin) ++at_;
        }
    }

    When connector() {
        const char c = peek();
        const bool twice = peek(1) == c;
        at_ += twice ? 2 : 1;
        if (c == '&' && twice) return When::after_success;
        if (c == '|' && twice) return When::after_failure;
        return When::always;
    }

    Command command(int depth) {
        Command made;
        made.line = source_.line(at_);
        while (ahead() == "!" || ahead() == "time") {
            made.negated = ahead() == "!" ? !made.negated : made.negated;
            (void)word();
            skip_blanks(false);
        }
        const std::string first = ahead();
        if (first == "if")
            choice(made, depth);
        else if (first == "for" || first == "select")
            each(made, depth);
        else if (first == "while" || first == "until")
            loop(made, depth);
        else if (first == "case")
            cases(made, depth);
        else if (first == "{" || (first.empty() && peek() == '(' && peek(1) != '('))
            group(made, depth);
        else if (first == "function")
            function(made, depth);
        else
            simple(made, depth);
        return made;
    }

    Commands block(int depth) {
        Commands commands;
        list(commands, depth + 1);
        return commands;
    }

    void choice(Command& made, int depth) {
        made.form = Form::choice;
        (void)word();
        do {
            made.parts.push_back(block(depth));
            (void)take("then");
            made.parts.push_back(block(depth));
        } while (take("elif"));
        if (take("else")) made.parts.push_back(block(depth));
        (void)take("fi");
    }

    void body(Command& made, int depth) {
        skip_blanks(true);
        if (peek() == ';') ++at_;
        (void)take("do");
        made.parts.push_back(block(depth));
        (void)take("done");
    }

    void each(Command& made, int depth) {
        made.form = Form::each;
        (void)word();
        skip_blanks(false);
        made.name = word().text();
        if (take("in"))
            for (skip_blanks(false); !at_end() && !ends_word(peek()); skip_blanks(false)) made.words.push_back(word());
        else if (peek() == '(')
            at_ = skip_parentheses();
        body(made, depth);
    }

    void loop(Command& made, int depth) {
        made.form = Form::loop;
        (void)word();
        made.parts.push_back(block(depth));
        body(made, depth);
    }

    void cases(Command& made, int depth) {
        made.form = Form::cases;
        (void)word();
        skip_blanks(false);
        made.words.push_back(word());
        (void)take("in");
        while (true) {
            skip_blanks(true);
            if (at_end() || take("esac")) return;
            const std::size_t begin = at_;
            if (peek() == '(') ++at_;
            std::vector<Word> patterns;
            for (skip_blanks(true); !at_end() && peek() != ')'; skip_blanks(true)) {
                if (ends_word(peek()))
                    ++at_;
                else
                    patterns.push_back(word());
            }
            if (!at_end()) ++at_;
            made.patterns.push_back(std::move(patterns));
            made.parts.push_back(block(depth));
            while (peek() == ';' || peek() == '&') ++at_;
            if (at_ == begin) ++at_;
        }
    }

    void group(Command& made, int depth) {
        made.form = Form::group;
        ++at_;
        made.parts.push_back(block(depth));
        if (peek() == ')' || peek() == '}') ++at_;
    }

    void function(Command& made, int depth) {
        made.form = Form::function;
        (void)word();
        skip_blanks(false);
        made.name = word().text();
        function_body(made, depth);
    }

    void function_body(Command& made, int depth) {
        skip_blanks(false);
        if (peek() == '(') at_ = skip_parentheses();
        skip_blanks(true);
        if (depth < most_depth && peek() == '{') group(made, depth);
        made.form = Form::function;
        if (made.parts.empty()) made.parts.emplace_back();
    }

    [[nodiscard]] std::size_t skip_parentheses() const {
        int level = 0;
        for (std::size_t i = at_; i < source_.size();) {
            const char c = source_.at(i);
            if (c == '(') ++level;
            if (c == ')' && --level == 0) return i + 1;
            i = c == '(' || c == ')' ? i + 1 : skip(source_, i);
        }
        return source_.size();
    }

    /// Name and operator of an assignment at this place; how many characters they are: 0 where it is none.
    std::size_t assignment_head(Assignment& made) const {
        std::size_t i = at_;
        while (std::isalnum(static_cast<unsigned char>(source_.at(i))) != 0 || source_.at(i) == '_') ++i;
        made.name = source_.text().substr(at_, i - at_);
        if (!is_name(made.name)) return 0;
        if (source_.at(i) == '+' && source_.at(i + 1) == '=')
            made.append = true;
        else if (source_.at(i) != '=')
            return 0;
        return i + (made.append ? 2 : 1) - at_;
    }

    bool assignment(Command& made) {
        Assignment one;
        const std::size_t head = assignment_head(one);
        if (head == 0) return false;
        at_ += head;
        if (peek() == '(') {
            one.list = true;
            ++at_;
            for (skip_blanks(true); !at_end() && peek() != ')'; skip_blanks(true)) {
                if (ends_word(peek()))
                    ++at_;  // no element begins with it
                else
                    one.values.push_back(word());
            }
            if (!at_end()) ++at_;
        } else if (const std::size_t end = placeholder_end(); end != 0) {
            one.values.push_back(placeholder(end));
        } else {
            one.values.push_back(word());
        }
        made.assignments.push_back(std::move(one));
        return true;
    }

    /// [[ ... ]] holds brackets and operators that elsewhere end a command.
    void test(Command& made) {
        for (skip_blanks(true); !at_end(); skip_blanks(true)) {
            if (!ends_word(peek())) {
                made.words.push_back(word());
                if (made.words.back().text() == "]]") return;
                continue;
            }
            const std::size_t length = peek() == peek(1) && (peek() == '&' || peek() == '|') ? 2 : 1;
            made.words.push_back(source_.part(at_, length));
            at_ += length;
        }
    }

    /// <path to the data>, which examples have where a user is to write: where it ends; 0 where it is a redirection.
    [[nodiscard]] std::size_t placeholder_end() const {
        if (peek() != '<' || std::isalpha(static_cast<unsigned char>(peek(1))) == 0) return 0;
        const std::size_t end = source_.text().find_first_of("<>\n", at_ + 1);
        if (end == std::string::npos || source_.at(end) != '>') return 0;
        const char next = source_.at(end + 1);
        return std::isspace(static_cast<unsigned char>(next)) != 0 || next == '\0' ? end + 1 : 0;
    }

    Word placeholder(std::size_t end) {
        const std::uint32_t line = source_.line(std::exchange(at_, end));
        return unknown("(placeholder)", line);
    }

    void redirection() {
        const char c = peek();
        const bool document = c == '<' && peek(1) == '<' && peek(2) != '<';
        while (peek() == '<' || peek() == '>' || peek() == '&' || peek() == '|') ++at_;
        if (document && peek() == '-') ++at_;
        if (peek() == '(') {  // <(command)
            at_ = skip_parentheses();
            return;
        }
        skip_blanks(false);
        std::string target = word().text();
        std::erase_if(target, [](char each) { return each == '\'' || each == '"' || each == '\\'; });
        if (document && !target.empty()) documents_.push_back(target);
    }

    void simple(Command& made, int depth) {
        if (peek() == '(' && peek(1) == '(') {
            const std::size_t begin = at_;
            at_ = skip_parentheses();
            made.words = {Traced("((", made.line), source_.part(begin + 2, at_ > begin + 4 ? at_ - begin - 4 : 0)};
            return;
        }
        for (skip_blanks(false); !at_end(); skip_blanks(false)) {
            const bool declares = !made.words.empty() && contains(declaring, made.words.front().text());
            if ((made.words.empty() || declares) && assignment(made)) continue;
            if (const std::size_t end = placeholder_end(); end != 0) {
                made.words.push_back(placeholder(end));
                continue;
            }
            if (peek() == '<' || peek() == '>' || (peek() == '&' && peek(1) == '>')) {
                redirection();
                continue;
            }
            if (ends_word(peek())) break;
            Word next = word();
            const bool descriptor = std::ranges::all_of(next.text(), [](unsigned char c) { return std::isdigit(c); });
            if (descriptor && (peek() == '<' || peek() == '>')) continue;
            made.words.push_back(std::move(next));
            if (made.words.size() == 1 && made.words.front().text() == "[[") return test(made);
        }
        if (made.words.size() == 1 && peek() == '(' && peek(1) == ')') {  // name() { ... }
            made.name = std::exchange(made.words, {}).front().text();
            function_body(made, depth);
        }
    }

    const Traced& source_;
    std::size_t at_ = 0;
    std::vector<std::string> documents_;  ///< the words that end the here-documents of this line
};

}  // namespace

std::shared_ptr<const Commands> parse(const Traced& source) {
    return std::make_shared<const Commands>(Parser(source).all());
}

}  // namespace orrery::doors::shell
