#include "models/layer_frequency.hpp"

#include <regex>
#include <string>

namespace orrery::models {

std::optional<std::uint32_t> first_dense_layers(std::string_view list) {
    constexpr std::size_t longest = 64;
    static const std::regex form(R"(\(?\[0\]\*(\d{1,4})\+\[1\]\*(\d{1,4})\)?(?:\*1)?)");
    std::match_results<std::string_view::const_iterator> found;
    if (list.size() > longest || !std::regex_match(list.begin(), list.end(), found, form)) return std::nullopt;
    return static_cast<std::uint32_t>(std::stoul(found[1].str()));
}

}  // namespace orrery::models
