// What a shell offers behind a program's name, made of the program's own commands and options: it cannot lag behind.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace orrery::cli {

/// Script for "bash", "zsh" or "fish" that completes commands, options and the words that an option takes; where
/// neither is due, files.
std::string completion(const CLI::App& program, std::string_view shell);

/// --completion SHELL, which prints that script and ends the program.
void add_completion(CLI::App& program);

}  // namespace orrery::cli
