#include "doors/shell/script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "doors/shell/conditions.hpp"
#include "doors/shell/expand.hpp"
#include "doors/shell/sbatch.hpp"
#include "doors/shell/syntax.hpp"

namespace orrery::doors::shell {

namespace {

constexpr int most_depth = 20;                // functions, eval and bash -c in each other
constexpr std::size_t most_commands = 50000;  // read, loops unrolled
constexpr std::size_t most_turns = 256;       // of one loop

enum class Status : std::uint8_t { yes, no, open };

Status status_of(std::optional<bool> answer) {
    if (!answer) return Status::open;
    return *answer ? Status::yes : Status::no;
}

template <std::size_t count>
bool is_one_of(std::string_view word, const std::array<std::string_view, count>& words) {
    return std::ranges::find(words, word) != words.end();
}

/// Commands that neither start anything nor change what is launched.
constexpr std::array<std::string_view, 23> idle{
    ".",      "echo",  "printf", "mkdir", "cd",  "set", "unset", "ulimit", "sleep", "rm",   "cp",   "mv",
    "source", "chmod", "module", "conda", "pip", "cat", "exit",  "return", "wait",  "trap", "shopt"};

class Reader {
public:
    Reader(const std::map<std::string, std::string>& defines, const std::function<bool(const Launch&)>& wanted)
        : wanted_(wanted) {
        for (const auto& [name, value] : defines) {
            std::size_t position = 0;
            const auto read = std::from_chars(name.data(), name.data() + name.size(), position);
            if (read.ec == std::errc{} && position > 0 && position < 100) {
                if (environment_.arguments.size() < position) environment_.arguments.resize(position);
                environment_.arguments[position - 1] = Traced(value, 0);
            } else {
                environment_.set(name, {.values = {Traced(value, 0)}});
            }
        }
    }

    void define(const std::string& name, const std::string& value, std::uint32_t line) {
        if (environment_.find(name) == nullptr) environment_.set(name, {.values = {Traced(value, line)}});
    }

    void read(const Traced& source) {
        if (depth_ > most_depth)
            throw Error("", "", "the script calls itself", "give the arguments themselves, after --");
        ++depth_;
        programs_.push_back(parse(source));
        (void)run(*programs_.back());
        --depth_;
    }

    Script result;

private:
    Status run(const Commands& commands) {
        Status last = Status::yes;
        for (const Command& command : commands) {
            if (command.when == When::after_success && last == Status::no) continue;
            if (command.when == When::after_failure && last != Status::no) continue;
            if (++commands_ > most_commands)
                throw Error("", "", "the script runs too many commands", "give the arguments themselves, after --");
            last = one(command);
            if (command.negated && last != Status::open) last = last == Status::yes ? Status::no : Status::yes;
        }
        return last;
    }

    Status one(const Command& command) {
        switch (command.form) {
            case Form::simple: return simple(command);
            case Form::choice: return choice(command);
            case Form::each: return each(command);
            case Form::loop: return loop(command);
            case Form::cases: return cases(command);
            case Form::group: return run(command.parts.front());
            case Form::function: functions_[command.name] = &command.parts.front(); return Status::yes;
        }
        return Status::yes;
    }

    Status choice(const Command& command) {
        for (std::size_t i = 0; i + 1 < command.parts.size(); i += 2) {
            const Status condition = run(command.parts[i]);
            if (condition == Status::yes) return run(command.parts[i + 1]);
            if (condition == Status::open && matters(command))
                remark(command.line, "only a run of the script would decide this condition: read as not met",
                       "give what hangs on it with --define NAME=VALUE, --set or after --");
        }
        return command.parts.size() % 2 == 1 ? run(command.parts.back()) : Status::yes;
    }

    /// Whether anything that is launched may hang on the command.
    static bool matters(const Command& command) {
        if (!command.assignments.empty()) return true;
        for (const Commands& part : command.parts)
            if (std::ranges::any_of(part, matters)) return true;
        return false;
    }

    Status each(const Command& command) {
        std::vector<Traced> values;
        for (const Word& word : command.words)
            for (Traced& value : fields(word, environment_)) values.push_back(std::move(value));
        if (values.size() > most_turns) values.resize(most_turns);
        for (Traced& value : values) {
            environment_.set(command.name, {.values = {std::move(value)}});
            (void)run(command.parts.front());
        }
        return Status::yes;
    }

    /// Loops over a script's arguments are the rule; how often others turn is not known.
    Status loop(const Command& command) {
        if (run(command.parts.front()) == Status::yes && matters(command))
            remark(command.line, "what this loop sets is not worked out",
                   "give it with --define NAME=VALUE, --set or after --");
        return Status::yes;
    }

    Status cases(const Command& command) {
        const std::string value = without_unknowns(text(command.words.front(), environment_).text());
        for (std::size_t i = 0; i < command.parts.size(); ++i)
            for (const Word& pattern : command.patterns[i])
                if (matches(without_unknowns(text(pattern, environment_).text()), value)) return run(command.parts[i]);
        return Status::yes;
    }

    void assign(const Assignment& assignment) {
        Variable made{.list = assignment.list};
        for (const Word& word : assignment.values) {
            if (assignment.list)
                for (Traced& value : fields(word, environment_)) made.values.push_back(std::move(value));
            else
                made.values.push_back(text(word, environment_));
        }
        const Variable* const before = assignment.append ? environment_.find(assignment.name) : nullptr;
        if (before != nullptr) {
            Variable longer = *before;
            for (const Traced& value : longer.values) environment_.spend(value.size() + 1);
            if (assignment.list) {
                longer.values.insert(longer.values.end(), made.values.begin(), made.values.end());
            } else {
                if (longer.values.empty()) longer.values.emplace_back();
                for (const Traced& value : made.values) longer.values.front().add(value);
            }
            made = std::move(longer);
        }
        environment_.set(assignment.name, std::move(made));
    }

    Status simple(const Command& command) {
        for (const Assignment& assignment : command.assignments) assign(assignment);
        if (command.words.empty()) return Status::yes;
        const std::string& first = command.words.front().text();
        if (first == "[[" || first == "((") return test(command, first == "((");
        Launch words;
        for (const Word& word : command.words)
            for (Traced& field : fields(word, environment_)) words.push_back(std::move(field));
        if (words.empty()) return Status::yes;
        return called(words);
    }

    Status test(const Command& command, bool arithmetic) {
        if (arithmetic) {
            const Number value = reckon(command.words.back(), environment_);
            return value ? status_of(*value != 0) : Status::open;
        }
        std::vector<std::string> words;
        for (std::size_t i = 1; i < command.words.size(); ++i)
            if (command.words[i].text() != "]]") words.push_back(text(command.words[i], environment_).text());
        return status_of(decide(words));
    }

    Status called(const Launch& words) {
        const std::string& name = words.front().text();
        if (name == "true" || name == ":") return Status::yes;
        if (name == "false") return Status::no;
        if (name == "[" || name == "test") {
            std::vector<std::string> rest;
            for (std::size_t i = 1; i < words.size(); ++i)
                if (words[i].text() != "]" || i + 1 < words.size()) rest.push_back(words[i].text());
            return status_of(decide(rest));
        }
        if (const auto found = functions_.find(name); found != functions_.end()) return call(*found->second, words);
        if (name == "eval") return nested(joined(words, 1));
        if (is_one_of(name, idle)) return source(words);
        if (const auto inner = script_of(words)) return nested(*inner);
        if (wanted_(words)) result.launches.push_back(words);
        return Status::open;
    }

    Status source(const Launch& words) {
        const std::string& name = words.front().text();
        if ((name == "source" || name == ".") && words.size() > 1)
            remark(words.front().line(), fmt::format("{} is not read", without_unknowns(words[1].text())),
                   "give the variables that it sets with --define NAME=VALUE");
        return Status::yes;
    }

    Status call(const Commands& body, const Launch& words) {
        if (depth_ > most_depth)
            throw Error("", "", "the script's functions call themselves", "give the arguments themselves, after --");
        ++depth_;
        std::vector<Traced> arguments(words.begin() + 1, words.end());
        std::swap(environment_.arguments, arguments);
        const Status status = run(body);
        environment_.arguments = std::move(arguments);
        --depth_;
        return status;
    }

    Status nested(const Traced& source) {
        read(source);
        return Status::open;
    }

    static Traced joined(const Launch& words, std::size_t from) {
        Traced line;
        for (std::size_t i = from; i < words.size(); ++i) {
            if (i > from) line.add(' ', words[i].line());
            line.add(words[i]);
        }
        return line;
    }

    /// srun ... bash -c "...": the script inside.
    static std::optional<Traced> script_of(const Launch& words) {
        constexpr std::array<std::string_view, 3> shells{"bash", "sh", "zsh"};
        for (std::size_t i = 0; i + 2 < words.size(); ++i) {
            const std::string& word = words[i].text();
            const std::string_view name = std::string_view(word).substr(word.find_last_of('/') + 1);
            if (!is_one_of(name, shells)) continue;
            for (std::size_t k = i + 1; k + 1 < words.size() && words[k].text().starts_with('-'); ++k)
                if (!words[k].text().starts_with("--") && words[k].text().ends_with('c')) return words[k + 1];
        }
        return std::nullopt;
    }

    void remark(std::uint32_t line, std::string what, std::string remedy) {
        if (remarked_.insert(line).second) result.remarks.push_back({line, std::move(what), std::move(remedy)});
    }

    const std::function<bool(const Launch&)>& wanted_;
    Environment environment_;
    std::map<std::string, const Commands*, std::less<>> functions_;
    std::vector<std::shared_ptr<const Commands>> programs_;  ///< kept: functions point into them
    std::set<std::uint32_t> remarked_;
    std::size_t commands_ = 0;
    int depth_ = 0;
};

}  // namespace

Script read_script(std::string_view text, const std::map<std::string, std::string>& defines,
                   const std::function<bool(const Launch&)>& wanted) {
    const Traced source = Traced::script(text);
    Reader reader(defines, wanted);
    for (const SlurmVariable& each : slurm_variables(source.text())) reader.define(each.name, each.value, each.line);
    reader.read(source);
    return std::move(reader.result);
}

}  // namespace orrery::doors::shell
