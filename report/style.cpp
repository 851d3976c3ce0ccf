#include "report/style.hpp"

#include <fmt/format.h>

#include <array>

namespace orrery::report {

std::string paint(Style style, Ink ink, std::string_view text) {
    constexpr std::array<std::string_view, 5> codes{"1", "2", "1;32", "1;33", "1;31"};  // by Ink
    if (!style.color) return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", codes[static_cast<std::size_t>(ink)], text);
}

}  // namespace orrery::report
