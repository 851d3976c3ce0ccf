// What the program may assume of the terminal it writes to.
#pragma once

#include <cstddef>
#include <string_view>

namespace orrery {

enum class Stream : int { out = 1, err = 2 };

/// Whether a person reads the stream: it is a terminal and TERM is not "dumb".
bool is_terminal(Stream stream);

/// Writes to standard error, as it is. Where nobody can read it the program goes on.
void say(std::string_view text);

/// Whether colours are welcome: a terminal, and NO_COLOR unset or empty (https://no-color.org).
bool wants_color(Stream stream);

/// Width of the terminal in characters; 80 when it is none or does not say.
int terminal_columns(Stream stream);

/// Characters that fit into a line: COLUMNS of the environment when it is a number above 0; else the terminal's; 0,
/// which is no limit, when nobody says: in a file or a pipe the same text stands everywhere.
std::size_t text_columns(Stream stream);

}  // namespace orrery
