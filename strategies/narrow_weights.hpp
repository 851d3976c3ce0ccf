// Weights that are operands of fp8 or fp4 products: what of them is kept between steps, what moves between ranks, and
// the kernels that make operands of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/kernel.hpp"
#include "strategies/partition/tensor.hpp"
#include "strategies/plan.hpp"
#include "strategies/stage_state.hpp"

namespace orrery::strategies {

/// One product's weight as a rank holds it; of experts all of theirs, one behind the other.
struct NarrowWeight {
    std::uint64_t rows = 0, cols = 0;
    bool experts = false;
    bool trained = true;
    /// Where its casts are tensors (partition/narrow_products.hpp): which of LayerFlow::parameters it is.
    std::optional<std::uint32_t> parameter = std::nullopt;
    [[nodiscard]] std::uint64_t elements() const { return rows * cols; }
};
/// Those that a layer holds, in the order of its forward; not what it borrows of another.
std::vector<NarrowWeight> narrow_weights(const ShardedLayer& layer);

/// fp8 with one scale a tensor, which holds whichever way it is read.
bool has_one_scale(const Plan& plan);
/// Of a narrow plan: whether what is cast is read for its maximum first. Of NVFP4 the maximum of a tensor, and of what
/// its Hadamard transform makes of it, comes before its blocks' scales (TransformerEngine, quantizer.cpp,
/// nvte_hadamard_transform_amax).
bool reads_maximum_first(const Plan& plan);
/// Whether what is cast for products is kept as long as they read it, forward and backward: by Transformer Engine and
/// by our own runtime. Others cast again.
bool keeps_what_it_casts(hardware::Software software);
/// Whether what products read of weights stays from step to step: with weights that are kept narrow, and beside 16 bits
/// in such software. Else it is made in each forward, and gone behind the layer.
bool keeps_weight_casts(const Plan& plan);

/// Parameters, and how many of them are weights of narrow products, or lie in four bits (partition/quantized_base).
struct WeightCount {
    std::uint64_t all = 0, narrow = 0, quantized = 0;
};
/// Of so many parameters in NF4 with double quantization: four bits, for each 64 a scale of a byte, and for each 256 of
/// these one of four (Dettmers et al. 2023, arXiv:2305.14314, section 3: 0.127 bits a parameter).
constexpr std::uint64_t nf4_bytes(std::uint64_t parameters) {
    return parameters / 2 + parameters / 64 + parameters / 64 / 256 * 4;
}

/// Bytes that stay on the device from step to step: 16 bits (of fp32 and tf32: 4 bytes), and what products read of
/// narrow weights where that stays: a byte (NVFP4: 9/16 with its scales) for each order in which they read it. With
/// fp8_param_gather narrow weights are there as products read them alone.
std::uint64_t kept_weight_bytes(const Plan& plan, WeightCount weights);
/// What ranks gather, and keep shares of where each use has a gathering of its own: 16 bits, or with fp8_param_gather
/// one order; but of MXFP8, whose orders cannot be made of each other, 16 bits (Megatron-LM,
/// reuse_grad_buf_for_mxfp8_param_ag).
std::uint64_t moved_weight_bytes(const Plan& plan, WeightCount weights);
/// What products read of weights that were gathered, beside these.
std::uint64_t cast_weight_bytes(const Plan& plan, std::uint64_t narrow);

/// A kernel, and what it takes: of a weight in a layer that is not said yet. Nothing where casts are no tensors.
struct WeightCast {
    kernels::Pointwise kernel;
    StateDetail takes{};
};
/// Kernels from 16 bits into what products read, behind the maximum where the recipe needs that first; of a weight that
/// came narrow those for the other order. None where products read it as it came, and of narrow weights that are never
/// updated.
std::vector<WeightCast> weight_casts(const Plan& plan, const NarrowWeight& weight);

/// What a backward runs before the product of a weight whose other order is not kept.
std::optional<kernels::Pointwise> transpose_in_backward(const Plan& plan, std::uint64_t rows, std::uint64_t cols);

/// Whether the optimizer leaves weights narrow (Megatron-LM, quantize_param_shard), by a kernel behind its own.
bool optimizer_casts(const Plan& plan);

}  // namespace orrery::strategies
