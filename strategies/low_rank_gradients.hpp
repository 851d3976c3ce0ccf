// PowerSGD: data ranks exchange two thin factors of each matrix of gradients (Vogels et al. 2019, arXiv:1905.13727).
//
// What runs is PyTorch's hook of DDP behind its warm-up (torch/distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py,
// powerSGD_hook with error feedback and warm start), bucket by bucket: what steps before have lost is added. Vectors,
// and matrices whose factors are not half as large (min_compression_rate), are reduced as they are. Of each other M,
// [n, m], all ranks' P = M Q, [n, r], is summed and made orthogonal, then their Q = M^T P, [m, r]; P Q^T takes M's
// place, and what it lacks of M is kept. Every operation of PyTorch is a kernel, matrix by matrix. Factors are made
// orthogonal column by column (Gram-Schmidt): PyTorch does so in 16 bits and up to rank 2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strategies/intern.hpp"
#include "strategies/parameter_shape.hpp"
#include "strategies/plan.hpp"
#include "strategies/stage.hpp"

namespace orrery::strategies {

/// Throws Error where factors of gradients do not go with the rest of the plan.
void check_low_rank(const Plan& plan);

/// Whether a parameter's gradients are exchanged as factors of so many columns.
bool has_factors(const ParameterShape& shape, std::uint32_t rank);

/// Bytes that stay from step to step: what was lost of gradients, and factors.
std::uint64_t low_rank_bytes(const Plan& plan, const Stage& stage);

/// Writes how the sums of one bucket become those of all data ranks.
class FactorExchange {
public:
    FactorExchange(const Plan& plan, Builder& builder, Intern& intern);

    /// Returns what the last operation makes.
    BufferId write(std::span<const ParameterShape> parameters, BufferId summed);

private:
    BufferId kernel(std::string_view name, const kernels::Kernel& kernel, std::vector<BufferId> reads,
                    std::uint64_t left = 0);
    BufferId pass(std::string_view name, kernels::PointwiseKind kind, std::uint64_t numbers, BufferId read);
    BufferId reduce(std::string_view name, std::uint64_t numbers, BufferId sent);
    BufferId orthogonal(std::uint64_t rows, BufferId at);
    BufferId plain(std::uint64_t numbers, BufferId at);
    BufferId factors(std::span<const ParameterShape> parameters, BufferId at);

    AxisSet group_;
    std::uint32_t rank_;
    kernels::Dtype dtype_;
    Builder& builder_;
    Intern& intern_;
};

}  // namespace orrery::strategies
