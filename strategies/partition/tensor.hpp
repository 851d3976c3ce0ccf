// Tensor (and sequence) parallelism of one layer: the kernels and collectives that one rank runs for it.
//
// Megatron-LM's split (Shoeybi et al. 2019; Korthikanti et al. 2022 for sequence parallelism) follows from two rules:
// widths named qkv, attention, ffn and vocab are split over the tensor axis, hidden is not; and between operators the
// residual stream is replicated, or split along the sequence under sequence parallelism. Collectives are the
// conversions of layout.hpp between what an operator leaves and what the next one takes.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "kernels/collective.hpp"
#include "kernels/kernel.hpp"
#include "models/operators.hpp"
#include "strategies/dataflow.hpp"
#include "strategies/modules.hpp"
#include "strategies/parameter_counts.hpp"
#include "strategies/plan.hpp"
#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// A collective of one layer; bytes is nccl-tests' size.
struct LayerCollective {
    kernels::CollectiveKind kind = kernels::CollectiveKind::all_reduce;
    std::uint64_t bytes = 0;
    AxisSet group = {Axis::tensor};
    std::optional<OnceANode> once = {};  ///< of an all_to_all
};

/// One kernel or collective. An asynchronous collective runs on the tensor lane beside what follows, until work that
/// needs its flag, or the next piece, waits for it.
struct Work {
    std::string name;
    std::variant<kernels::Kernel, LayerCollective> what;
    std::uint8_t raises = 0;  ///< flag that an asynchronous collective raises; 0: synchronous
    std::uint8_t needs = 0;   ///< flags that must have been raised
    bool routed = false;      ///< grows with the tokens that routers send to this rank's experts
    bool plain = false;       ///< as in Label
    bool single = false;      ///< as in Label
    bool looped = false;      ///< as in Label
    bool of_weights = false;  ///< of a backward: forms gradients of weights, which no other piece waits for
    Detail detail{};          ///< what it takes, among the tensors of its layer
};

/// What one operator becomes on one rank, for one micro-batch.
struct Piece {
    std::string name{};
    std::vector<Work> forward{}, backward{};
    std::uint64_t saved_bytes = 0;  ///< activations kept from forward to backward
    std::uint64_t input_bytes = 0;  ///< of these, its input, which stays when the piece itself is recomputed
    /// What the gradients of its weights need when they are formed later than that of its input: of saved_bytes, and
    /// the gradient of its output.
    std::uint64_t weight_saved_bytes = 0, output_gradient_bytes = 0;
    std::uint64_t working_bytes = 0;  ///< transient results alive while the piece runs forward
    ParameterCounts counts{};         ///< this rank's share
    /// What a policy of checkpoints may keep of its results: outputs, on this rank, of each of the products that it
    /// is, which are plain without biases; bytes of fused attention's, and of a sum that is scattered.
    struct Results {
        std::vector<std::uint64_t> products{};
        bool plain_products = false;
        std::uint64_t attention_bytes = 0, scattered_bytes = 0;
        bool sum_alone =
            false;  ///< where that sum is kept nothing before it runs again: torch.compile saw no use of it
    } results{};
    bool borrows_words = false;  ///< reads the word embedding, which another layer of this rank holds
    ModuleSet part_of = {};      ///< of what selective recomputation names
    ModuleSet takes = {};        ///< of those that leave nothing (without_output): input_bytes are its result
    bool host_waits = false;     ///< before its forward, for all that came before: of a layer's pieces one at most
};

/// A layer's pieces in forward order.
struct ShardedLayer {
    std::string name{};
    std::vector<Piece> pieces{};
    LayerFlow flow{};
    std::uint64_t input_bytes = 0;  ///< the residual stream as this rank holds it, one micro-batch

    [[nodiscard]] std::uint64_t saved_bytes() const;
    [[nodiscard]] std::uint64_t weight_saved_bytes() const;
    [[nodiscard]] std::uint64_t output_gradient_bytes() const;
    [[nodiscard]] ParameterCounts counts() const;
    [[nodiscard]] bool borrows_words() const;
    /// The piece before which the host waits; pieces.size() where it never does.
    [[nodiscard]] std::size_t host_waits_before() const;
};

/// Format of activations outside the matrix products: the compute precision, 16 bits under fp8.
kernels::Dtype activation_dtype(const Plan& plan);

/// Format of the residual stream, which may be fp32 beside 16-bit activations.
kernels::Dtype residual_dtype(const Plan& plan);

/// Freezes the layer's weights and puts adapters beside its linear layers, where the plan trains those alone (LoRA).
void train_adapters_alone(ShardedLayer& layer, const Plan& plan);
/// Keeps frozen weights of its products in four bits (quantized_base.cpp).
void quantize_base(ShardedLayer& layer);
/// Leaves the layer its forward.
void freeze_all(ShardedLayer& layer);

/// Throws nothing for a validated plan.
ShardedLayer shard(const models::Layer& layer, const Plan& plan);

}  // namespace orrery::strategies
