#include "strategies/intern.hpp"

namespace orrery::strategies {

std::uint32_t Intern::name(const std::string& text) {
    const auto [place, fresh] = names_.try_emplace(text, static_cast<std::uint32_t>(step_.names.size()));
    if (fresh) step_.names.push_back(text);
    return place->second;
}

Compute Intern::kernel(const kernels::Kernel& kernel) {
    const auto [place, fresh] =
        kernels_.try_emplace(kernels::to_text(kernel), static_cast<std::uint32_t>(step_.kernels.size()));
    if (fresh) step_.kernels.push_back(kernel);
    return {place->second};
}

}  // namespace orrery::strategies
