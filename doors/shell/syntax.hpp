// The commands of a bash script: as much of the language as launch scripts are written in. Nothing is run; what is not
// understood is read over, as one would who looks for the launch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "doors/shell/traced.hpp"

namespace orrery::doors::shell {

/// A word as it is written, quotes and dollars in it.
using Word = Traced;

/// NAME=value, NAME+=value, NAME=(...)
struct Assignment {
    std::string name;
    bool append = false, list = false;
    std::vector<Word> values;
};

enum class Form : std::uint8_t { simple, choice, each, loop, cases, group, function };
/// When a command runs: always, or when the one before it did well, or did not. A pipe's commands all run.
enum class When : std::uint8_t { always, after_success, after_failure };

struct Command;
using Commands = std::vector<Command>;

struct Command {
    Form form = Form::simple;
    When when = When::always;
    bool negated = false;
    std::uint32_t line = 0;
    std::vector<Assignment> assignments;
    std::vector<Word> words;  ///< of a simple command, the values of `for`, the word of `case`
    std::string name;         ///< variable of `for`, name of a function
    /// if: condition, commands, condition, commands, ..., commands of else; others: what is inside.
    std::vector<Commands> parts;
    std::vector<std::vector<Word>> patterns;  ///< of each part of `case`
};

/// Throws Error where commands or quotes are nested too deeply to be anybody's script.
std::shared_ptr<const Commands> parse(const Traced& source);

/// Where a construct that begins at i ends (just behind it): quotes, $(...), ${...}, `...`; i + 1 for any other
/// character. Throws Error as parse() does.
std::size_t skip(const Traced& source, std::size_t i, int depth = 0);

bool is_name(std::string_view text);

}  // namespace orrery::doors::shell
