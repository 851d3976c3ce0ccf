#include "cli/number.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace orrery::cli {

CLI::Validator number_between(double least, double most) {
    CLI::Range range(least, most);
    const auto check = [range](std::string& text) {
        double value = 0;
        const bool is_number = CLI::detail::lexical_cast(text, value) && !std::isnan(value);
        return is_number ? range(text) : fmt::format("{} is no number", text);
    };
    return {check, range.get_description()};
}

}  // namespace orrery::cli
