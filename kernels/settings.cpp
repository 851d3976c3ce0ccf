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

/// Rotated keys of latent attention.
std::vector<Operand> operands_of_shared(const Pointwise& p, const Settings& settings) {
    const Format d = format_of(p.dtype);
    const std::uint64_t all = p.rows * p.cols, own = all / settings.head * (settings.head - settings.turned),
                        one = p.rows * settings.turned,
                        table = std::min(p.rows, settings.positions) * settings.turned / 2;
    const Operand cos{"cos", Format::fp32, table}, sin{"sin", Format::fp32, table};
    const auto made = [&](const char* name, std::uint64_t elements) { return Operand{name, d, elements, Role::out}; };
    if (p.kind == PointwiseKind::rope) return {{"x", d, own}, {"s", d, one}, cos, sin, made("y", all)};
    return {{"dy", d, all}, cos, sin, made("dx", own), made("ds", one)};
}

/// Values, results and their gradients have columns of their own.
void set_values(const Attention& a, std::uint64_t value_dim, Operand& operand) {
    constexpr std::array<std::string_view, 4> of_values{"v", "o", "do", "dv"};
    if (std::find(of_values.begin(), of_values.end(), operand.name) != of_values.end())
        operand.elements = operand.elements / a.head_dim * value_dim;
}

Format narrow_format(const Settings& settings) { return settings.narrow.gradient ? Format::fp8_e5m2 : Format::fp8; }

std::vector<Operand> operands_of_cast(const Pointwise& p, const Settings& settings) {
    const std::uint64_t all = p.rows * p.cols;
    return {{"x", format_of(p.dtype), all},
            {"largest", Format::fp32, 1},
            {"y", narrow_format(settings), all, Role::out},
            {"t", narrow_format(settings), all, Role::out},
            {"scale", Format::fp32, 1, Role::out}};
}

}  // namespace

std::vector<Operand> operands(const Kernel& kernel, const Settings& settings) {
    const auto* const pointwise = std::get_if<Pointwise>(&kernel);
    if (pointwise != nullptr && settings.narrow.cast) return operands_of_cast(*pointwise, settings);
    if (pointwise != nullptr && settings.shared) return operands_of_shared(*pointwise, settings);
    std::vector<Operand> list = operands(kernel);
    const auto* const attention = std::get_if<Attention>(&kernel);
    if (attention != nullptr && settings.value_dim > 0)
        for (Operand& operand : list) set_values(*attention, settings.value_dim, operand);
    if (std::holds_alternative<Gemm>(kernel) && settings.narrow.gradient) list[0].format = Format::fp8_e5m2;
    if (std::holds_alternative<Gemm>(kernel) && settings.narrow.scaled)
        list.insert(list.end(), {{"a_scale", Format::fp32, 1}, {"b_scale", Format::fp32, 1}});
    if (narrows(kernel, settings)) std::swap(list[0].format, list[1].format);
    for (Operand& operand : list)
        if (settings.result && is_sum(kernel, operand.name)) operand.format = format_of(*settings.result);
    return list;
}

}  // namespace orrery::kernels
