#include "strategies/partition/expert_bias.hpp"

#include <initializer_list>

namespace orrery::strategies {

namespace {

using kernels::Dtype;
using kernels::Pointwise;
using kernels::PointwiseKind;

/// A kernel of PyTorch, by the kind that moves about as many bytes.
struct Step {
    const char* name;
    PointwiseKind kind;
    Dtype dtype;
    bool of_weights = false;
};

void add_each(std::vector<Work>& list, const ExpertShapes& shapes, std::uint64_t width,
              std::initializer_list<Step> steps) {
    for (std::uint32_t expert = 0; expert < shapes.experts; ++expert)
        for (const Step& step : steps)
            list.push_back({.name = step.name,
                            .what = Pointwise{step.kind, step.dtype, shapes.rows_each, width},
                            .routed = true,
                            .plain = true,
                            .of_weights = step.of_weights});
}

void add_whole(std::vector<Work>& list, const ExpertShapes& shapes, std::uint64_t width, const Step& step) {
    list.push_back({.name = step.name,
                    .what = Pointwise{step.kind, step.dtype, shapes.rows, width},
                    .routed = true,
                    .plain = true});
}

}  // namespace

bool adds_expert_bias_apart(const Plan& plan, const models::Experts& op) {
    return op.bias && plan.training.software == hardware::Software::transformer_engine;
}

void add_expert_bias(const Plan& plan, const ExpertShapes& shapes, std::uint64_t width, Piece& piece) {
    using enum PointwiseKind;
    const Dtype narrow = activation_dtype(plan), wide = Dtype::fp32;
    add_each(piece.forward, shapes, width, {{"bias by probability", fill, wide}, {"expert bias", add, wide}});
    add_whole(piece.forward, shapes, width, {"join experts", scale, wide});
    add_whole(piece.forward, shapes, width, {"cast experts", cast, narrow});
    add_whole(piece.backward, shapes, width, {"cast experts backward", cast, narrow});
    add_each(piece.backward, shapes, width,
             {{"expert bias backward", cast, narrow},
              {"bias gradient by probability", scale, wide, true},
              {"bias gradient", bias_gradient, wide, true},
              {"probability gradient by bias", scale, wide},
              {"probability gradient", bias_gradient, wide}});
    add_whole(piece.backward, shapes, width, {"join gradients of experts", scale, narrow});
    piece.working_bytes += shapes.rows * width * 2 * kernels::size_of(wide);  // of each expert, and joined
}

}  // namespace orrery::strategies
