#include "strategies/modules.hpp"

#include <algorithm>

namespace orrery::strategies {

std::string to_text(ModuleSet modules) {
    std::string text;
    for (std::size_t i = 0; i < module_names.size(); ++i)
        if (modules.has(static_cast<Module>(i))) text.append(text.empty() ? "" : ",").append(module_names.at(i));
    return text;
}

std::optional<ModuleSet> modules_named(std::string_view text) {
    constexpr std::string_view between = " ,";
    ModuleSet named;
    while (true) {
        text.remove_prefix(std::min(text.find_first_not_of(between), text.size()));
        if (text.empty()) break;
        const std::string_view word = text.substr(0, text.find_first_of(between));
        const auto* const known = std::ranges::find(module_names, word);
        if (known == module_names.end()) return std::nullopt;
        named |= static_cast<Module>(known - module_names.begin());
        text.remove_prefix(word.size());
    }
    if (named.empty()) return std::nullopt;
    return named;
}

}  // namespace orrery::strategies
