#include "sim/expert_tiles.hpp"

#include <algorithm>
#include <cstdint>

namespace orrery::sim {

namespace {

constexpr std::uint64_t row_tile = 512, size_tile = 1024;

std::uint64_t tiles(std::uint64_t size, std::uint64_t tile) { return (size + tile - 1) / tile; }

/// What is executed along a size that is no row's, over it.
double along(std::uint64_t size) {
    const std::uint64_t tile = std::min(size, size_tile);
    return static_cast<double>(tiles(size, tile) * tile) / static_cast<double>(size);
}

/// What is executed along the rows of all experts, over them.
double along_rows(std::uint64_t rows, std::uint64_t experts) {
    const std::uint64_t all = rows * experts, tile = std::min(all, row_tile);
    return static_cast<double>((tiles(all, tile) + experts - 1) * tile) / static_cast<double>(all);
}

}  // namespace

bool is_of_experts(const kernels::Gemm& product, const strategies::Plan& plan) {
    return plan.model.experts > 0 && product.batch == plan.rank_experts(plan.model.experts);
}

double tiled_share(const kernels::Kernel& kernel, const strategies::Plan& plan, const hardware::Gpu& chip) {
    const auto* const gemm = std::get_if<kernels::Gemm>(&kernel);
    const models::ModelSpec& model = plan.model;
    if (gemm == nullptr || !hardware::is_chip(chip.socket) || !is_of_experts(*gemm, plan)) return 1;
    if (plan.training.expert_capacity > 0 || gemm->batch < 2) return 1;
    const bool of_weights = gemm->pass == kernels::GemmPass::weight_gradient;
    const std::uint64_t rows = of_weights ? gemm->k : gemm->m;
    const std::uint64_t ffn = model.expert_ffn / (plan.experts_split() ? plan.strategy.tensor : 1);
    double share = along_rows(rows, gemm->batch);
    for (const std::uint64_t size : {std::uint64_t{gemm->n}, std::uint64_t{of_weights ? gemm->m : gemm->k}})
        share *= along(size == 2 * ffn ? ffn : size);
    return share;
}

}  // namespace orrery::sim
