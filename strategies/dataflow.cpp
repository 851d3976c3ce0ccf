#include "strategies/dataflow.hpp"

#include <algorithm>
#include <utility>

#include "base/enum_table.hpp"

namespace orrery::strategies {

std::string_view name(Role role) {
    constexpr EnumNames<Role> names{"activation", "gradient",    "weight",        "weight gradient",
                                    "table",      "cast weight", "turned weight", "weight scale"};
    return names[role];
}

ValueId FlowBuilder::add(Value value) {
    flow_.values.push_back(value);
    return static_cast<ValueId>(flow_.values.size() - 1);
}

ValueId FlowBuilder::gradient_of(ValueId activation) {
    const auto known = gradients_.find(activation);
    if (known != gradients_.end()) return known->second;
    const Value of = value(activation);
    return gradients_[activation] = gradient(of.format, of.elements);
}

void FlowBuilder::set_gradient(ValueId activation, ValueId gradient) {
    const ValueId is = resolved(gradient), before = resolved(gradient_of(activation));
    if (before != is) instead_[before] = is;
}

ValueId FlowBuilder::resolved(ValueId id) const {
    for (auto other = instead_.find(id); other != instead_.end(); other = instead_.find(id)) id = other->second;
    return id;
}

ValueId FlowBuilder::table(Table which, kernels::Format format, std::uint64_t elements) {
    const auto [known, fresh] = tables_.try_emplace(which, no_value);
    if (fresh) known->second = add({Role::table, format, elements, static_cast<std::uint32_t>(which)});
    std::uint64_t& there = flow_.values[known->second].elements;  // zeros serve whoever takes most of them
    there = std::max(there, elements);
    return known->second;
}

FlowBuilder::Weights FlowBuilder::parameter(Parameter parameter, std::uint64_t elements, kernels::Format weight,
                                            kernels::Format gradient) {
    const auto index = static_cast<std::uint32_t>(flow_.parameters.size());
    flow_.parameters.push_back(std::move(parameter));
    return {add({Role::weight, weight, elements, index}), add({Role::weight_gradient, gradient, elements, index})};
}

ValueId FlowBuilder::cast_of(ValueId weight, Role role) {
    const Value& of = value(weight);
    const bool scale = role == Role::weight_scale;
    return add({role, scale ? kernels::Format::fp32 : kernels::Format::fp8, scale ? 1 : of.elements, of.of});
}

}  // namespace orrery::strategies
