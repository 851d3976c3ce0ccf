#include "strategies/intern.hpp"

#include <algorithm>
#include <cstdint>

namespace orrery::strategies {

std::uint32_t Intern::name(std::string_view text) {
    Recent& recent = recent_[reinterpret_cast<std::uintptr_t>(text.data()) / 8 % recent_.size()];
    if (recent.text == text.data() && step_.names[recent.number] == text) return recent.number;
    const auto [known, fresh] = names_.try_emplace(std::string(text), static_cast<std::uint32_t>(step_.names.size()));
    if (fresh) step_.names.emplace_back(text);
    recent = {text.data(), known->second};
    return known->second;
}

Compute Intern::kernel(const kernels::Kernel& kernel) {
    const auto [place, fresh] =
        kernels_.try_emplace(kernels::to_text(kernel), static_cast<std::uint32_t>(step_.kernels.size()));
    if (fresh) step_.kernels.push_back(kernel);
    return {place->second};
}

std::uint32_t Intern::exchange(const std::optional<OnceANode>& exchange) {
    if (!exchange) return 0;
    auto& known = step_.exchanges;
    const auto found = std::ranges::find(known, *exchange);
    const auto number = static_cast<std::uint32_t>(found - known.begin());
    if (found == known.end()) known.push_back(*exchange);
    return number + 1;
}

}  // namespace orrery::strategies
