// Experts of one layer on one rank: router, dispatch of tokens to the ranks that hold their experts, the experts' MLPs,
// and the way back.
#pragma once

#include <cstdint>

#include "models/operators.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// What a rank sends and computes when every expert receives as many tokens (imbalance is a perturbation, not part of
/// the plan). A rank holds T tokens of the residual stream.
struct ExpertShapes {
    std::uint64_t tokens = 0;     ///< T
    std::uint64_t sent = 0;       ///< copies that leave for experts: T top_k, or what the capacity lets through
    std::uint64_t rows = 0;       ///< copies that this rank's experts work on
    std::uint32_t experts = 0;    ///< that this rank holds
    std::uint32_t rows_each = 0;  ///< of one expert, rounded up
    std::uint32_t inner = 0;      ///< outputs of an expert's first product on this rank, both halves when gated
    std::uint32_t ffn = 0;        ///< inputs of its second product on this rank
    bool exchanges = false;       ///< tokens go to other ranks
    bool gathers = false;         ///< tensor ranks share the tokens of each other's parts of the sequence
    std::uint64_t gathered = 0;   ///< by the allgather dispatcher: tokens of all ranks that it gathers from; else 0
    double copies = 0;            ///< by the flex dispatcher: of each token, one for every rank that has experts of it;
    std::uint64_t distinct = 0;   ///< and those of all tokens; else 0
};
ExpertShapes expert_shapes(const models::Experts& op, const Plan& plan);

/// Whether the host waits, once in a layer's forward, until the device has counted how many tokens each expert gets: it
/// launches as many products of as many rows (Megatron-LM, token_dispatcher.py, cuda_sync_point; DeepEP's and
/// HybridEP's dispatch wait alike for what they receive). Not where every expert takes as many tokens
/// (pad_to_capacity), in a graph of the whole iteration, whose launches are recorded, in a graph of XLA or TensorFlow,
/// whose shapes are fixed, or in the project's own runtime, which is given the counts.
bool host_reads_counts(const Training& training);

}  // namespace orrery::strategies
