#include "doors/shell/conditions.hpp"

#include <array>
#include <charconv>
#include <cstdint>

#include "doors/shell/traced.hpp"

namespace orrery::doors::shell {

namespace {

using Answer = std::optional<bool>;
constexpr int most_depth = 50;

std::optional<std::int64_t> whole(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

Answer compare(const std::string& left, std::string_view op, const std::string& right) {
    const std::string a = without_unknowns(left), b = without_unknowns(right);
    if (op == "=" || op == "==") return matches(b, a);
    if (op == "!=") return !matches(b, a);
    if (op == "<") return a < b;
    if (op == ">") return a > b;
    const auto x = whole(left), y = whole(right);
    if (!x || !y) return std::nullopt;
    if (op == "-eq") return *x == *y;
    if (op == "-ne") return *x != *y;
    if (op == "-lt") return *x < *y;
    if (op == "-le") return *x <= *y;
    if (op == "-gt") return *x > *y;
    if (op == "-ge") return *x >= *y;
    return std::nullopt;  // =~, -nt and others
}

bool is_comparison(std::string_view word) {
    constexpr std::array<std::string_view, 15> all{"=",   "==",  "!=",  "<",   ">",   "=~",  "-eq", "-ne",
                                                   "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"};
    for (const std::string_view each : all)
        if (each == word) return true;
    return false;
}

class Decider {
public:
    explicit Decider(const std::vector<std::string>& words) : words_(words) {}

    Answer any(int depth) {
        Answer answer = every(depth);
        while (take("||") || take("-o")) {
            const Answer next = every(depth);
            if (answer == true || next == true)
                answer = true;
            else if (!answer || !next)
                answer = std::nullopt;
        }
        return answer;
    }

    [[nodiscard]] bool at_end() const { return at_ >= words_.size(); }

private:
    bool take(std::string_view word) {
        if (at_end() || words_[at_] != word) return false;
        ++at_;
        return true;
    }

    Answer every(int depth) {
        Answer answer = single(depth);
        while (take("&&") || take("-a")) {
            const Answer next = single(depth);
            if (answer == false || next == false)
                answer = false;
            else if (!answer || !next)
                answer = std::nullopt;
        }
        return answer;
    }

    Answer single(int depth) {
        if (depth > most_depth || at_end()) return std::nullopt;
        const bool binary = at_ + 2 < words_.size() && is_comparison(words_[at_ + 1]);
        if (!binary && take("!")) {
            const Answer inner = single(depth + 1);
            return inner ? Answer(!*inner) : inner;
        }
        if (!binary && take("(")) {
            const Answer inner = any(depth + 1);
            (void)take(")");
            return inner;
        }
        if (binary) {
            at_ += 3;
            return compare(words_[at_ - 3], words_[at_ - 2], words_[at_ - 1]);
        }
        return unary();
    }

    Answer unary() {
        const std::string word = words_[at_++];
        const bool option = word.size() == 2 && word.front() == '-' && !at_end() && !ends(words_[at_]);
        if (!option) return !without_unknowns(word).empty();
        const std::string operand = without_unknowns(words_[at_++]);
        if (word == "-z") return operand.empty();
        if (word == "-n") return !operand.empty();
        return std::nullopt;  // of files
    }

    static bool ends(std::string_view word) { return word == "&&" || word == "||" || word == ")"; }

    const std::vector<std::string>& words_;
    std::size_t at_ = 0;
};

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
    constexpr std::size_t longest = 4096;  // of what scripts compare; time grows with the product of both
    if (pattern.size() > longest || text.size() > longest) return pattern == text;
    std::size_t p = 0, t = 0, star = std::string_view::npos, resumed = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resumed = t;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            t = ++resumed;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

std::optional<bool> decide(const std::vector<std::string>& words) {
    if (words.empty()) return false;
    Decider decider(words);
    const Answer answer = decider.any(0);
    return decider.at_end() ? answer : std::nullopt;
}

}  // namespace orrery::doors::shell
