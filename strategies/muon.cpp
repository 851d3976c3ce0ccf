#include "strategies/muon.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <queue>
#include <utility>

#include "strategies/ownership.hpp"
#include "strategies/refusal.hpp"
#include "strategies/state_bytes.hpp"

namespace orrery::strategies {

namespace {

using kernels::Dtype;
using kernels::Gemm;
using kernels::GemmPass;

constexpr const char* key = "/training/optimizer";

/// Of the whole, where tensor ranks have parts of it.
MuonMatrix matrix_of(const ParameterShape& shape, std::uint64_t rows, std::uint64_t tensor) {
    using Split = Parameter::Split;
    MuonMatrix matrix{.rows = rows, .cols = shape.cols, .held = rows * shape.cols, .experts = shape.experts};
    if (shape.split == Split::rows) matrix.rows *= tensor;
    if (shape.split == Split::cols) matrix.cols *= tensor;
    return matrix;
}

/// Whether Muon updates a parameter; Adam does the others.
bool is_orthogonal(const ParameterShape& shape) { return shape.is_matrix() && !shape.words; }

void add_matrices(const ParameterShape& shape, std::uint64_t tensor, std::vector<MuonMatrix>& list) {
    if (!is_orthogonal(shape)) return;
    for (std::uint64_t copy = 0; copy < shape.copies; ++copy) {
        if (shape.parts.empty()) list.push_back(matrix_of(shape, shape.rows, tensor));
        for (const std::uint64_t part : shape.parts) list.push_back(matrix_of(shape, part, tensor));
    }
}

/// What is given to ranks as a whole: the costliest first, to whom has least so far.
struct Dealt {
    double cost = 0;
    std::uint64_t numbers = 0;
    std::vector<MuonMatrix> matrices;
};
std::vector<Dealt> dealt(std::vector<MuonMatrix> matrices, std::uint32_t ranks) {
    if (ranks > 1) std::ranges::stable_sort(matrices, std::ranges::greater{}, &MuonMatrix::cost);
    std::vector<Dealt> hands(ranks);
    using Place = std::pair<double, std::uint32_t>;  // cost, rank
    std::priority_queue<Place, std::vector<Place>, std::greater<>> least;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) least.emplace(0, rank);
    for (const MuonMatrix& matrix : matrices) {
        const std::uint32_t rank = least.top().second;
        least.pop();
        hands[rank].cost += matrix.cost();
        hands[rank].numbers += matrix.held;
        hands[rank].matrices.push_back(matrix);
        least.emplace(hands[rank].cost, rank);
    }
    return hands;
}

/// Ranks that share the update of a class.
std::uint32_t sharing(const Plan& plan, bool experts) {
    const Ownership of = ownership(plan, class_of_bucket(experts));
    return plan.mesh().group_size(of.states.split(of.replicas));
}

/// One matrix, whose kernels are those of plain PyTorch; streams of fp32 numbers are of what the rank holds, or of the
/// whole.
void update_matrix(const MuonMatrix& matrix, std::uint32_t steps, Updates& out, std::span<const BufferId> reads) {
    constexpr double decay = 2, momentum = 3, joined = 2, norm = 1, divided = 2, narrowed = 1.5, scaled = 2, added = 3;
    const std::uint64_t numbers = matrix.rows * matrix.cols;
    out.streams("momentum", decay + momentum, matrix.held, reads);
    if (matrix.split()) out.gather("gather momentum", AxisSet{Axis::tensor}, numbers * 4);
    out.streams("normalize momentum", (matrix.split() ? joined : 0) + norm + divided + narrowed, numbers);
    const auto less = static_cast<std::uint32_t>(std::min(matrix.rows, matrix.cols)),
               more = static_cast<std::uint32_t>(std::max(matrix.rows, matrix.cols));
    for (std::uint32_t step = 0; step < steps; ++step) {
        out.product({.m = less, .n = less, .k = more});  // X X^T
        out.product({.m = less, .n = less, .k = less, .pass = GemmPass::data_gradient});
        out.product({.m = less, .n = more, .k = less, .pass = GemmPass::data_gradient});
    }
    out.streams("muon update", narrowed + scaled, numbers);
    out.streams("muon update", added, matrix.held);
}

}  // namespace

double MuonMatrix::cost() const {
    const auto less = static_cast<double>(std::min(rows, cols)), more = static_cast<double>(std::max(rows, cols));
    return more * less * less;
}

void check_muon(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    if (plan.training.optimizer != Optimizer::muon) {
        if (plan.training.muon_steps != Training{}.muon_steps)
            refuse("/training/muon_num_ns_steps",
                   fmt::format("{}, but the optimizer is not Muon", plan.training.muon_steps),
                   "set optimizer to \"muon\", or leave it out", Source::origin_of_key);
        return;
    }
    if (strategy.sharding != Sharding::none && strategy.sharding != Sharding::zero1)
        refuse(key, fmt::format("Muon under {}, but its products take whole matrices", row_of(strategy.sharding).name),
               "set sharding to \"zero1\" or \"none\", or optimizer to \"adam\"",
               strategy.sharding == Sharding::zero3 ? Source::megatron_arguments : Source::not_modelled);
    if (strategy.optimizer_instances > 1)
        refuse("/strategy/num_distributed_optimizer_instances",
               fmt::format("{}, but matrices are dealt to one group of ranks alone", strategy.optimizer_instances),
               "set it to 1, or training.optimizer to \"adam\"", Source::megatron_layer_wise);
    if (plan.training.lora_rank > 0)
        refuse(key, "Muon of adapters, whose two factors are no matrices of the model",
               "set it to \"adam\", or leave lora_rank out", Source::not_modelled);
}

MuonShare muon_share(const Plan& plan, const Stage& stage) {
    std::array<std::vector<MuonMatrix>, 2> lists;  // of experts, or of all others
    std::array<std::uint64_t, 2> others{};         // parameters that are no such matrices
    for (const auto& chunk : stage.chunks)
        for (const PlacedLayer& placed : chunk)
            for (const ParameterShape& shape : placed.blocks->shapes) {
                const std::size_t of = shape.experts ? 1 : 0;
                add_matrices(shape, plan.strategy.tensor, lists[of]);
                if (!is_orthogonal(shape)) others[of] += shape.copies;
            }
    MuonShare share;
    for (const bool experts : {false, true}) {
        std::vector<MuonMatrix>& list = lists[experts ? 1 : 0];
        std::uint64_t rest = stage.counts.trained_of(experts);
        for (const MuonMatrix& matrix : list) rest -= matrix.held;
        const std::uint32_t ranks = sharing(plan, experts);
        share.rest += rest / ranks;
        share.rest_tensors += (others[experts ? 1 : 0] + ranks - 1) / ranks;
        std::vector<Dealt> hands = dealt(std::move(list), ranks);
        share.most += std::ranges::max_element(hands, {}, &Dealt::numbers)->numbers;
        Dealt& slowest = *std::ranges::max_element(hands, {}, &Dealt::cost);
        share.matrices.insert(share.matrices.end(), slowest.matrices.begin(), slowest.matrices.end());
    }
    return share;
}

std::uint64_t muon_more_bytes(const Plan& plan, const Stage& stage, std::uint64_t owned) {
    if (plan.training.optimizer != Optimizer::muon) return 0;
    const std::uint64_t of_matrices = state_bytes(plan.training).optimizer, second_moment = 4;
    const MuonShare share = muon_share(plan, stage);
    const std::uint64_t all = share.most * of_matrices + share.rest * (of_matrices + second_moment);
    return all - std::min(all, owned * of_matrices);
}

void update_by_muon(const Plan& plan, const Stage& stage, Updates& out, std::span<const BufferId> reads,
                    std::span<const BufferId> writes) {
    const MuonShare share = muon_share(plan, stage);
    for (const MuonMatrix& matrix : share.matrices) update_matrix(matrix, plan.training.muon_steps, out, reads);
    if (plan.training.fused_optimizer)
        out.streams("adam of the rest", 7, share.rest, reads, writes);
    else
        out.by_parameter(share.rest_tensors, share.rest, row_of(Optimizer::adam).by_parameter, kernels::Dtype::fp32,
                         reads, writes);
}

}  // namespace orrery::strategies
