// How text may look where it is going to be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace orrery::report {

struct Style {
    bool color = false;       ///< ANSI colours; the command line decides (terminal, NO_COLOR, --no-color)
    std::size_t columns = 0;  ///< of the terminal, for tables; 0: as many as it takes
};

enum class Ink : std::uint8_t { bold, dim, good, warning, bad };

/// The text in an ink, or as it is when the style has no colour.
std::string paint(Style style, Ink ink, std::string_view text);

}  // namespace orrery::report
