// Where one rank stands, and how a run is set up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/operands.hpp"
#include "strategies/mesh.hpp"
#include "strategies/ownership.hpp"
#include "strategies/partition/tensor.hpp"
#include "strategies/plan.hpp"
#include "strategies/stage_state.hpp"

namespace orrery::run {

/// What a scenario does not say.
struct RunSettings {
    std::uint32_t steps = 20;
    std::uint32_t warmup = 3;  ///< of the steps: not measured
    std::uint64_t seed = 1;
    std::string data;  ///< a text file read byte by byte; empty: synthetic tokens
    /// Of each of the program's kernels: they sleep for it instead of computing. Empty: they compute.
    std::vector<double> kernel_seconds = {};
    /// The one rank of the plan that runs, alone, without communication; its numbers mean nothing and have no loss.
    std::optional<std::uint32_t> only_rank = std::nullopt;
    kernels::Adam adam{.rate = 1e-3, .b1 = 0.9, .b2 = 0.95, .epsilon = 1e-8, .decay = 0, .step = 1};
};

/// One rank of a plan's mesh.
struct Place {
    const strategies::Plan& plan;
    strategies::Mesh mesh;
    std::uint32_t rank = 0;

    [[nodiscard]] std::uint32_t along(strategies::Axis axis) const { return mesh.coordinate(rank, axis); }
    [[nodiscard]] std::uint32_t tensor() const { return along(strategies::Axis::tensor); }
    [[nodiscard]] std::uint32_t data() const { return mesh.data_rank(rank); }
    /// Which of the ranks that hold the same experts and the same part of the tensor axis.
    [[nodiscard]] std::uint32_t expert_data() const { return along(strategies::Axis::data); }
    [[nodiscard]] std::uint32_t stage() const { return along(strategies::Axis::pipeline); }
    [[nodiscard]] std::uint32_t context() const {
        using enum strategies::Axis;
        return along(context_inner) + along(strategies::Axis::context) * mesh.along(context_inner);
    }
    /// Which of those that pass keys and values around a ring, or gather them.
    [[nodiscard]] std::uint32_t ring() const { return along(strategies::Axis::context); }
    /// Of a micro-batch, those that this rank holds: of every sequence as many.
    [[nodiscard]] std::uint64_t tokens(models::Sequence of = models::Sequence::only) const {
        return plan.rank_tokens(of);
    }
    /// Numbers of a micro-batch's images, each of three colours.
    [[nodiscard]] std::uint64_t image_elements() const {
        const std::uint64_t size = plan.model.image.size;
        return plan.training.micro_batch * 3 * size * size;
    }
    /// The sequence whose tokens are predicted.
    [[nodiscard]] models::Sequence predicted() const {
        return plan.model.decoder_layers > 0 ? models::Sequence::decoded : models::Sequence::only;
    }
    /// Where in its sequence the token number `token` lies that a context rank holds of it: rank r of C holds parts r
    /// and 2 C - 1 - r of 2 C, so that under a causal mask all have as much to do (strategies/partition/context.cpp).
    [[nodiscard]] std::uint64_t position_of(std::uint32_t context, std::uint64_t token) const {
        const std::uint64_t ranks = plan.strategy.context, part = plan.training.seq / (2 * ranks);
        if (ranks == 1) return token;
        return token < part ? context * part + token : (2 * ranks - 1 - context) * part + (token - part);
    }
    [[nodiscard]] std::uint64_t position_of(std::uint64_t token) const { return position_of(context(), token); }
    [[nodiscard]] bool sequence_split() const { return plan.strategy.sequence_parallel && plan.strategy.tensor > 1; }
    /// Rows of the residual stream that this rank holds, and the first of them.
    [[nodiscard]] std::uint64_t residual_tokens(models::Sequence of = models::Sequence::only) const {
        return sequence_split() ? tokens(of) / plan.strategy.tensor : tokens(of);
    }
    [[nodiscard]] std::uint64_t first_residual_token(models::Sequence of = models::Sequence::only) const {
        return sequence_split() ? tensor() * residual_tokens(of) : 0;
    }
    /// The format, in memory, of activations, their gradients and the weights that products read: fp32 (tf32 too) or
    /// bf16. Losses, and the statistics of norms and of attention, are fp32 in any case.
    [[nodiscard]] kernels::Dtype activations() const {
        return strategies::in_memory(strategies::activation_dtype(plan));
    }
    /// That of weights' gradients until the optimizer takes them: sums over micro-batches and ranks.
    [[nodiscard]] kernels::Dtype gradients() const {
        return strategies::in_memory(plan.training.precision.grad_reduce);
    }
    /// Which rank of a group it is.
    [[nodiscard]] std::uint32_t within(strategies::AxisSet group) const {
        const auto ranks = mesh.group(rank, group);
        return static_cast<std::uint32_t>(std::ranges::find(ranks, rank) - ranks.begin());
    }
    /// Whether ranks keep shares of such a bucket's weights, or gradients, and each only its own.
    [[nodiscard]] bool shares(strategies::State state, bool experts) const {
        const strategies::Ownership of = ownership(plan, strategies::class_of_bucket(experts));
        const strategies::Along& column = state == strategies::State::weights ? of.weights : of.gradients;
        return mesh.group_size(column.split(of.replicas)) > 1;
    }
    /// Ranks that divide the update of such a bucket's parameters among them, this one included, and which it is.
    [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> sharing(bool experts) const {
        const strategies::Ownership of = ownership(plan, strategies::class_of_bucket(experts));
        const strategies::AxisSet group = of.states.split(of.replicas);
        return {mesh.group_size(group), within(group)};
    }
};

}  // namespace orrery::run
