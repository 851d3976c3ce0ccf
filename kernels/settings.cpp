#include "kernels/settings.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/overloaded.hpp"

namespace orrery::kernels {

namespace {

bool is_sum_of(const Pointwise& p, std::string_view operand) {
    if (p.kind == PointwiseKind::add) return operand != "b";
    constexpr std::array<std::string_view, 4> sums{"dgamma", "dbeta", "db", "dtable"};
    return std::find(sums.begin(), sums.end(), operand) != sums.end();
}

/// Operands whose format Settings::result says, by their names in operands().
bool is_sum(const Kernel& kernel, std::string_view operand) {
    return std::visit(
        Overloaded{[&](const Gemm&) { return operand == "c"; }, [](const Attention&) { return false; },
                   [&](const Pointwise& p) { return is_sum_of(p, operand); },
                   [&](const Convolution&) { return operand == "dw"; }, [](const Pooling&) { return false; },
                   [&](const BatchNorm&) { return operand == "dgamma" || operand == "dbeta"; },
                   [](const StateSpace&) { return false; }},
        kernel);
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
