#include "report/style.hpp"

#include <fmt/format.h>

#include "base/enum_table.hpp"

namespace orrery::report {

std::string paint(Style style, Ink ink, std::string_view text) {
    constexpr EnumNames<Ink> codes{"1", "2", "1;32", "1;33", "1;31"};
    if (!style.color) return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", codes[ink], text);
}

}  // namespace orrery::report
