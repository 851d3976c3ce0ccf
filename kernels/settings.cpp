#include "kernels/settings.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace orrery::kernels {

namespace {

/// Operands whose format Settings::result says, by their names in operands().
bool is_sum(const Kernel& kernel, std::string_view operand) {
    if (std::holds_alternative<Gemm>(kernel)) return operand == "c";
    const auto* const p = std::get_if<Pointwise>(&kernel);
    if (p == nullptr) return false;
    if (p->kind == PointwiseKind::add) return operand != "b";
    constexpr std::array<std::string_view, 4> sums{"dgamma", "dbeta", "db", "dtable"};
    return std::find(sums.begin(), sums.end(), operand) != sums.end();
}

bool narrows(const Kernel& kernel, const Settings& settings) {
    const auto* const p = std::get_if<Pointwise>(&kernel);
    return p != nullptr && p->kind == PointwiseKind::cast && settings.result == p->dtype;
}

}  // namespace

std::vector<Operand> operands(const Kernel& kernel, const Settings& settings) {
    std::vector<Operand> list = operands(kernel);
    if (narrows(kernel, settings)) std::swap(list[0].format, list[1].format);
    for (Operand& operand : list)
        if (settings.result && is_sum(kernel, operand.name)) operand.format = format_of(*settings.result);
    return list;
}

}  // namespace orrery::kernels
