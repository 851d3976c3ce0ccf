// Muon (Jordan et al. 2024): a momentum of each matrix is made orthogonal by Newton-Schulz iterations before the step;
// embeddings, heads and vectors are Adam's.
//
// What runs is Megatron-LM's (2026: core/optimizer/emerging_optimizers.py, layer_wise_optimizer.py) with NVIDIA's
// emerging_optimizers, without Nesterov's momentum, as its default is: matrix by matrix, queries, keys and values of
// one weight by themselves. Of a matrix that tensor ranks split they gather the momentum in fp32, and each works on the
// whole (muon_tp_mode: duplicated). An iteration is X <- a X + (b A + c A A) X with A = X X^T, three products in bf16
// whose sides are the shorter one's, the shorter, and the longer's. Under zero1 whole matrices belong to one of the
// ranks that share, the costliest first to whom has least to do (dist_muon; there within the bounds of buckets), and a
// program has the products of the rank that has most. Moonlight (arXiv:2502.16982, algorithm 1) shards by elements and
// gathers in bf16 instead, which is not modelled.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strategies/stage.hpp"
#include "strategies/updates.hpp"

namespace orrery::strategies {

/// Throws Error where Muon does not go with the rest of the plan.
void check_muon(const Plan& plan);

/// A matrix whose momentum is made orthogonal.
struct MuonMatrix {
    std::uint64_t rows = 0, cols = 0;  ///< of the whole
    std::uint64_t held = 0;            ///< numbers that a tensor rank has of it
    bool experts = false;

    [[nodiscard]] bool split() const { return held != rows * cols; }
    /// Of one of the two larger products, in multiply-adds: what balances ranks.
    [[nodiscard]] double cost() const;
};

/// A rank's part of a stage's update.
struct MuonShare {
    std::vector<MuonMatrix> matrices;  ///< of the rank that has most to do
    std::uint64_t most = 0;            ///< numbers of the matrices of the rank that has most of them
    std::uint64_t rest = 0;            ///< numbers that Adam updates on a rank,
    std::uint64_t rest_tensors = 0;    ///< of so many parameters
};
MuonShare muon_share(const Plan& plan, const Stage& stage);

/// Bytes of states beyond `owned` times state_bytes(): Adam's second moments, and matrices that are not cut evenly.
std::uint64_t muon_more_bytes(const Plan& plan, const Stage& stage, std::uint64_t owned);

/// The update of a stage's parameters; reads and writes as update_priced().
void update_by_muon(const Plan& plan, const Stage& stage, Updates& out, std::span<const BufferId> reads,
                    std::span<const BufferId> writes);

}  // namespace orrery::strategies
