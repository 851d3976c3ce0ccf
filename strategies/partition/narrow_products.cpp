#include "strategies/partition/narrow_products.hpp"

#include <utility>

#include "strategies/narrow_weights.hpp"
#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

using kernels::Dtype;
using kernels::Format;

bool casts_are_tensors(const Plan& plan) {
    const Training& training = plan.training;
    return training.precision.compute == Dtype::fp8 && training.fp8_recipe == Fp8Recipe::tensorwise &&
           keeps_casts(plan) && keeps_weight_casts(plan) && !training.fp8_param_gather && !plan.offloads_weights() &&
           plan.strategy.sharding != Sharding::zero3 && !schedule_of(plan.strategy.schedule).asynchronous;
}

NarrowOperand add_cast_operand(LayerStream& stream, std::vector<Work>& list, ValueId x, std::uint64_t rows,
                               std::uint64_t cols) {
    FlowBuilder& flow = stream.flow;
    const bool gradient = flow.value(x).role == Role::gradient;
    const auto make = [&](Format format, std::uint64_t elements) {
        return gradient ? flow.gradient(format, elements) : flow.activation(format, elements);
    };
    const Format narrow = gradient ? Format::fp8_e5m2 : Format::fp8;
    const ValueId largest = make(Format::fp32, 1);
    const NarrowOperand made{make(narrow, rows * cols), make(narrow, rows * cols), make(Format::fp32, 1)};
    const std::size_t from = list.size();
    add_quantisation(stream.plan, list, rows, cols);
    Detail &maximum = list[from].detail, &cast = list[from + 1].detail;
    maximum.operands = {{x}, {largest}};
    maximum.launch.settings.narrow = {.largest = true};
    cast.operands = {{x}, {largest}, {made.straight}, {made.across}, {made.scale}};
    cast.launch.settings.narrow = {.gradient = gradient, .cast = true};
    return made;
}

NarrowOperand cast_weight(FlowBuilder& flow, const FlowBuilder::Weights& weight) {
    return {flow.cast_of(weight.weight, Role::cast_weight), flow.cast_of(weight.weight, Role::turned_weight),
            flow.cast_of(weight.weight, Role::weight_scale)};
}

Detail detail_of(const NarrowProduct& product, Launch launch) {
    launch.settings.narrow = {.gradient = product.gradient, .scaled = true};
    launch.kernel = kernels::Gemm{Dtype::fp8, 1, static_cast<std::uint32_t>(product.m),
                                  static_cast<std::uint32_t>(product.n), static_cast<std::uint32_t>(product.k)};
    const NarrowMatrix &a = product.a, &b = product.b;
    return {{{a.elements}, {b.elements}, product.c, {a.scale}, {b.scale}}, std::move(launch)};
}

}  // namespace orrery::strategies
