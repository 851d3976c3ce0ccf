#include "strategies/narrow_weights.hpp"

#include <optional>
#include <variant>

#include "strategies/partition/sharder.hpp"
#include "strategies/state_bytes.hpp"

namespace orrery::strategies {

namespace {

using kernels::Dtype;
using kernels::Pointwise;
using kernels::PointwiseKind;

/// Orders in which narrow weights are there for products: both, but of those with one scale where the GPU takes either,
/// or the other is made when it is needed.
std::uint32_t orders(const Plan& plan) {
    if (!is_narrow(plan.training.precision.compute)) return 0;
    return has_one_scale(plan) && (plan.fp8_either_order || plan.training.no_transpose_cache) ? 1 : 2;
}

/// From one order into the other: a byte an element each way (NVFP4: half a one), as a 16-bit transpose of as many
/// fewer.
Pointwise turned(const Plan& plan, std::uint64_t rows, std::uint64_t cols) {
    const std::uint64_t fewer = plan.training.precision.compute == Dtype::fp4 ? 4 : 2;
    return {PointwiseKind::transpose, Dtype::bf16, rows, cols / fewer};
}

/// Of narrow weights as products read them, in one order.
std::uint64_t in_one_order(const Plan& plan, std::uint64_t narrow) {
    return narrow_bytes(plan.training.precision.compute, narrow);
}

/// Of a cast weight, which parameter that is.
std::optional<std::uint32_t> parameter_of(const LayerFlow& flow, const Detail& product) {
    if (product.operands.size() < 2) return std::nullopt;
    const Value& weight = flow.values[product.operands[1].value];
    return weight.role == Role::cast_weight ? std::optional(weight.of) : std::nullopt;
}

/// Operands of the maximum's kernel, and of the cast behind it.
void take(std::vector<WeightCast>& casts, std::uint32_t parameter) {
    const auto of = [&](State state) { return StateView{.state = state, .parameter = parameter}; };
    casts.front().takes.operands = {of(State::weights), of(State::largest)};
    casts.front().takes.settings.narrow = {.largest = true};
    casts.back().takes.operands = {of(State::weights), of(State::largest), of(State::cast_weights),
                                   of(State::turned_weights), of(State::weight_scales)};
    casts.back().takes.settings.narrow = {.cast = true};
}

}  // namespace

bool has_one_scale(const Plan& plan) {
    const Training& training = plan.training;
    return training.precision.compute == Dtype::fp8 &&
           (training.fp8_recipe == Fp8Recipe::delayed || training.fp8_recipe == Fp8Recipe::tensorwise);
}

bool reads_maximum_first(const Plan& plan) {
    return plan.training.precision.compute == Dtype::fp4 || plan.training.fp8_recipe == Fp8Recipe::tensorwise;
}

bool keeps_weight_casts(const Plan& plan) {
    const Training& training = plan.training;
    if (training.fp8_param_gather) return true;
    return keeps_what_it_casts(training.software) && !training.no_transpose_cache;
}

bool keeps_what_it_casts(hardware::Software software) {
    return software == hardware::Software::transformer_engine || software == hardware::Software::orrery;
}

std::vector<NarrowWeight> narrow_weights(const ShardedLayer& layer) {
    std::vector<NarrowWeight> weights;
    for (const Piece& piece : layer.pieces)
        for (const Work& work : piece.forward) {
            const auto* kernel = std::get_if<kernels::Kernel>(&work.what);
            const auto* product = kernel == nullptr ? nullptr : std::get_if<kernels::Gemm>(kernel);
            if (product == nullptr || !is_narrow(product->dtype) || work.looped) continue;
            const NarrowWeight weight{.rows = std::uint64_t{product->batch} * product->n,
                                      .cols = product->k,
                                      .experts = piece.counts.all_experts() > 0,
                                      .trained = piece.counts.frozen == 0,
                                      .parameter = parameter_of(layer.flow, work.detail)};
            if (weight.elements() <= piece.counts.all()) weights.push_back(weight);
        }
    return weights;
}

std::uint64_t kept_weight_bytes(const Plan& plan, WeightCount weights) {
    const std::uint64_t whole = weights.all - weights.quantized;
    const std::uint64_t in_16_bits = plan.training.fp8_param_gather ? whole - weights.narrow : whole;
    const std::uint32_t kept = keeps_weight_casts(plan) ? orders(plan) : 0;
    return in_16_bits * state_bytes(plan.training).weight + kept * in_one_order(plan, weights.narrow) +
           nf4_bytes(weights.quantized);
}

std::uint64_t moved_weight_bytes(const Plan& plan, WeightCount weights) {
    if (!optimizer_casts(plan))
        return (weights.all - weights.quantized) * state_bytes(plan.training).weight + nf4_bytes(weights.quantized);
    return (weights.all - weights.narrow) * state_bytes(plan.training).weight + in_one_order(plan, weights.narrow);
}

std::uint64_t cast_weight_bytes(const Plan& plan, std::uint64_t narrow) {
    return (orders(plan) - (optimizer_casts(plan) ? 1 : 0)) * in_one_order(plan, narrow);
}

std::vector<WeightCast> weight_casts(const Plan& plan, const NarrowWeight& weight) {
    const bool stays = plan.strategy.sharding != Sharding::zero3;
    if (plan.training.fp8_param_gather && !weight.trained && stays) return {};
    if (optimizer_casts(plan)) {
        if (orders(plan) == 1) return {};
        return {{turned(plan, weight.rows, weight.cols)}};
    }
    std::vector<WeightCast> casts;
    if (reads_maximum_first(plan))
        casts.push_back({{PointwiseKind::sum_of_squares, Dtype::bf16, weight.rows, weight.cols}});
    casts.push_back({{PointwiseKind::transpose, Dtype::bf16, weight.rows, weight.cols}});
    if (weight.parameter) take(casts, *weight.parameter);
    return casts;
}

std::optional<Pointwise> transpose_in_backward(const Plan& plan, std::uint64_t rows, std::uint64_t cols) {
    if (!plan.training.no_transpose_cache || plan.fp8_either_order || !has_one_scale(plan)) return std::nullopt;
    return turned(plan, rows, cols);
}

bool optimizer_casts(const Plan& plan) {
    const Training& training = plan.training;
    const bool both_from_16_bits = training.precision.compute == Dtype::fp8 && training.fp8_recipe == Fp8Recipe::mxfp8;
    return training.fp8_param_gather && !both_from_16_bits;
}

}  // namespace orrery::strategies
