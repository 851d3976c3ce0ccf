// The work of a step: its batch and sequences, formats of numbers, the optimizer, and how kernels are written.
#pragma once

#include <cstdint>

#include "hardware/attention_kernels.hpp"
#include "hardware/host_time.hpp"
#include "kernels/kernel.hpp"
#include "models/model_spec.hpp"

namespace orrery::strategies {

/// What a CUDA graph replays: Megatron-LM's cuda-graph-scope.
enum class CudaGraphScope : std::uint8_t {
    full_iteration,   ///< every kernel of a step
    outside_experts,  ///< attn, moe_router, moe_preprocess: all but what works on routed tokens, whose number varies
    routers,          ///< moe_router, moe_preprocess: operators beside a router's product and gate, and nothing else
};

using kernels::is_narrow;

/// In what format gradients travel among data ranks: in that of their sums, or in another (gradient_wire.hpp).
enum class GradientWire : std::uint8_t { as_summed, fp32, fp16, bf16 };

struct Precision {
    kernels::Dtype compute = kernels::Dtype::bf16;      ///< weights and activations in the linear layers
    kernels::Dtype grad_reduce = kernels::Dtype::bf16;  ///< fp32 with accumulate-allreduce-grads-in-fp32
    GradientWire wire = GradientWire::as_summed;        ///< DeepSpeed's communication_data_type

    [[nodiscard]] kernels::Dtype on_the_wire() const {
        switch (wire) {
            case GradientWire::as_summed: break;
            case GradientWire::fp32: return kernels::Dtype::fp32;
            case GradientWire::fp16: return kernels::Dtype::fp16;
            case GradientWire::bf16: return kernels::Dtype::bf16;
        }
        return grad_reduce;
    }
};

/// How operands of fp8 products get their scales: Megatron-LM's fp8-recipe.
enum class Fp8Recipe : std::uint8_t {
    delayed,     ///< one scale a tensor, from maxima of steps before
    tensorwise,  ///< one scale a tensor, from its own maximum, for which it is read once more
    blockwise,   ///< one scale a block of 128, found as it is cast
    mxfp8,       ///< one scale for 32 elements, found as they are cast
};

/// How much of what stands between the products is one kernel.
enum class KernelFusion : std::uint8_t {
    full,        ///< bias with GELU, bias with dropout and residual, scale with mask and softmax: Megatron-LM
    operators,   ///< each operator of the framework is a kernel: PyTorch, MXNet, PaddlePaddle, XLA
    primitives,  ///< each arithmetic operation is: TensorFlow without XLA
};

/// Which dimension of images lies last in memory.
enum class MemoryFormat : std::uint8_t {
    channels_last,   ///< NHWC, as tensor cores take images
    channels_first,  ///< NCHW, PyTorch's and Gluon's default: cuDNN transposes (partition/memory_format)
};

/// Where the passes of a loss over words leave what they work out (partition/vocabulary.cpp).
enum class CrossEntropy : std::uint8_t {
    in_place,  ///< over the fp32 logits: Megatron-LM, fused kernels, compilers
    torch,     ///< beside them: torch.nn.functional.cross_entropy in eager mode
    fused,     ///< over the logits as the product leaves them: one kernel a pass, whose arithmetic alone is fp32
};

/// How frozen weights of layers' products lie in memory beside adapters.
enum class BaseWeights : std::uint8_t {
    as_trained,  ///< as weights that are trained
    nf4,         ///< in four bits, from which each product's are brought back before it (partition/quantized_base)
};

/// What turns gradients into new weights (optimizers.hpp).
enum class Optimizer : std::uint8_t {
    adam,      ///< AdamW as well
    sgd,       ///< without momentum
    momentum,  ///< SGD with momentum
    lion,
    lamb,       ///< Adam's step, scaled by norms of each parameter and its step
    adafactor,  ///< without a first moment
    adam8bit,   ///< bitsandbytes: moments in 8 bits, block by block
    muon,       ///< momentum made orthogonal, of matrices between embedding and head; Adam of the rest (muon.hpp)
};

/// Which linear layers have adapters when the rest of a model is frozen (LoRA, Hu et al. 2021).
enum class LoraTargets : std::uint8_t { all_linear, attention, qkv, query_value };

/// Of fp16's loss, so that small gradients are numbers in it (Megatron-LM, core/optimizer/grad_scaler.py): a step whose
/// gradients are not all finite changes nothing. Dynamic: `hysteresis` such steps since the scale grew last, and each
/// one behind them, halve it; `window` steps in a row that are none double it.
struct LossScaling {
    double constant = 0;            ///< loss-scale; 0: dynamic
    double initial = 4294967296.0;  ///< initial-loss-scale
    double least = 1;               ///< min-loss-scale
    std::uint32_t window = 1000;    ///< loss-scale-window
    std::uint32_t hysteresis = 2;   ///< hysteresis

    bool operator==(const LossScaling&) const = default;
};

/// The work of one step and how its kernels are written.
struct Training {
    std::uint32_t seq = 0;  ///< seq-length; beside a decoder encoder-seq-length
    std::uint32_t decoder_seq =
        0;  ///< decoder-seq-length: of what is decoded, or of a text beside an image; 0: one stack
    /// Tokens of each of the documents that are packed into a sequence, among which alone attention runs; 0: a sequence
    /// is one document.
    std::uint32_t document_length = 0;
    std::uint32_t micro_batch = 1;   ///< micro-batch-size, sequences per rank
    std::uint32_t global_batch = 0;  ///< global-batch-size, sequences per step
    Precision precision;
    /// False: the optimizer updates 16-bit weights where they are, and its moments have 16 bits too.
    bool master_weights = true;
    LossScaling loss_scaling = {};
    bool fused_attention = true;  ///< use-flash-attn; false: batched GEMMs and a softmax over seq x seq
    bool gradient_accumulation_fusion =
        true;  ///< weight gradients are added inside the GEMM, not by a kernel of their own
    /// moe-permute-fusion: copies of tokens are moved, and their results added, by kernels of their own (Transformer
    /// Engine's); false: by PyTorch's index_select and scatter_add.
    bool permute_fusion = true;
    /// moe-router-fusion: a router's scores, choice and losses of balance are Transformer Engine's three kernels;
    /// false: PyTorch's operators (partition/router_operators).
    bool router_fusion = true;
    bool cuda_graph = false;  ///< kernels are replayed, not dispatched one by one by the host
    CudaGraphScope cuda_graph_scope = CudaGraphScope::full_iteration;
    /// Who dispatches them else, and takes the host's time for it (hardware/host_time.hpp).
    hardware::Software software = hardware::Software::megatron_lm;
    KernelFusion kernel_fusion = KernelFusion::full;
    bool bias_activation_fusion = true;  ///< false: a bias, an activation and its gate are PyTorch's operators
    bool fused_rms_norm = true;  ///< false: RMSNorm is PyTorch's operators, one by one (partition/eager_rms_norm)
    bool complex_rope = false;   ///< queries and keys turn as complex numbers in fp32 (partition/rotation)
    /// fuse_attention_qkv, fuse_attention_ffn: queries, keys and values are one product, and a gate is one with its
    /// MLP's first matrix; false: each its own (partition/separate_products).
    bool fused_qkv = true, fused_gate = true;
    /// Heads of keys and values that several heads of queries share stay as few as they are; false: they are copied to
    /// as many (partition/attention).
    bool enable_gqa = true;
    MemoryFormat memory_format = MemoryFormat::channels_last;  ///< of images between convolutions
    bool fp32_residual_connection = false;  ///< the residual stream, its norms, dropouts and sums, in fp32
    /// torch.autocast: weights and the residual stream are fp32; each product casts what it takes to 16 bits
    /// (partition/autocast).
    bool autocast = false;
    bool fp32_activation_function = false;  ///< activation functions in fp32: TensorFlow's auto_mixed_precision
    Fp8Recipe fp8_recipe = Fp8Recipe::delayed;
    bool fp8_attention = false;       ///< fp8-dot-product-attention: attention's products are in fp8 too
    bool fp8_output = false;          ///< fp8_output_proj: the logits' too, which else are in bf16
    bool fp8_function_input = false;  ///< activation_func_fp8_input_store: a SwiGLU's input is kept in fp8
    /// fp8-param-gather, fp4-param-gather (fp8_params, Transformer Engine's fp8_model_init): weights of these products
    /// are kept, and gathered, in that format alone (narrow_weights.hpp).
    bool fp8_param_gather = false;
    /// disable_parameter_transpose_cache: of weights that are kept in fp8 no transposed copy is kept beside them, and
    /// each backward makes it anew where products need it.
    bool no_transpose_cache = false;
    /// num-layers-at-start- and -at-end-in-bf16 (of first-last-layers-bf16): so many layers' products are in bf16 where
    /// the others are in fp8 or fp4.
    std::uint32_t first_layers_in_bf16 = 0, last_layers_in_bf16 = 0;
    /// deterministic-mode: torch.use_deterministic_algorithms, which fills what is allocated (one more kernel each).
    bool deterministic = false;
    bool log_num_zeros_in_grad = false;  ///< zeros among the gradients are counted in each step (optimizer_phase)
    /// PyTorch's Optimizer.zero_grad(set_to_none=True): a gradient is there from its backward to the update, not in a
    /// buffer that lasts.
    bool zero_grad_set_to_none = false;
    /// PyTorch's DistributedDataParallel(gradient_as_bucket_view=...); false: copies of gradients are reduced
    /// (bucket_copies.hpp).
    bool gradient_as_bucket_view = true;
    /// Each micro-batch's sizes are broadcast among tensor ranks and read by the host (batch_input.hpp).
    bool broadcast_data = false;
    /// cross-entropy-loss-fusion: passes over the logits are joined into few kernels; false: Megatron-LM's own
    /// operators, one kernel each (partition/vocabulary.cpp).
    bool cross_entropy_fusion = true;
    CrossEntropy cross_entropy = CrossEntropy::in_place;  ///< torch: its own operators, whatever is fused
    /// Parts of a rank's tokens that the last product and the loss take one by one, each with its backward
    /// (partition/chunked_loss); 1: all at once.
    std::uint32_t loss_chunks = 1;
    hardware::AttentionKernel attention_kernel = hardware::AttentionKernel::newest;  ///< of fused attention
    double grad_clip = 1.0;                                                          ///< clip-grad; 0: no gradient norm
    Optimizer optimizer = Optimizer::adam;
    std::uint32_t muon_steps = 5;  ///< muon-num-ns-steps: Newton-Schulz iterations, of three products each
    /// EPL's num_apply_group: so many groups of parameters are updated one behind the other, of each of which there is
    /// an fp32 copy of gradients while its turn lasts (optimizer_groups.hpp).
    std::uint32_t apply_groups = 1;
    /// Gradients and weights are worked on by kernels over all parameters (apex, Megatron-LM); false: parameter by
    /// parameter, as PyTorch code does.
    bool fused_optimizer = true;
    /// Of an optimizer that is not fused: PyTorch's foreach, each operation over all parameters at once, whose results
    /// are as large as they are; false: parameter by parameter.
    bool foreach_optimizer = false;
    /// moe-expert-capacity-factor: an expert takes at most so many times its mean share of the tokens, the others are
    /// dropped; 0: none are (dropless). pad: each takes exactly that many (moe-pad-expert-input-to-capacity).
    double expert_capacity = 0;
    bool pad_to_capacity = false;
    /// Fine-tuning of adapters of this rank alone; 0: all weights are trained.
    std::uint32_t lora_rank = 0;
    BaseWeights base_weights = BaseWeights::as_trained;  ///< of the layers that adapters stand beside
    LoraTargets lora_targets = LoraTargets::all_linear;
    /// Queries, keys and values, and the two halves of a gated MLP's first layer, have adapters of their own, as
    /// Hugging Face's models have them apart (NeMo's CanonicalLoRA); false: one of what is one product.
    bool canonical_lora = false;
    double lora_dropout = 0;  ///< of an adapter's input
    /// PEFT's autocast_adapter_dtype: adapters are fp32 beside a model in 16 bits, and inputs are cast to and fro.
    bool wide_adapters = false;
    /// The embedding and so many of the first layers are not trained: no backward reaches them.
    std::uint32_t frozen_layers = 0;

    [[nodiscard]] bool widens_stream() const { return fp32_residual_connection || autocast; }
    [[nodiscard]] bool scales_loss() const { return precision.compute == kernels::Dtype::fp16; }
    /// Of a long training's steps those that change nothing: each window of a scale that has found its place ends with
    /// one too large, and with `hysteresis` such steps.
    [[nodiscard]] double skipped_share() const {
        if (!scales_loss() || loss_scaling.constant > 0) return 0;
        return loss_scaling.hysteresis / (static_cast<double>(loss_scaling.window) + loss_scaling.hysteresis);
    }
    [[nodiscard]] std::uint32_t seq_of(models::Sequence sequence) const {
        if (sequence == models::Sequence::pooled) return 1;
        return sequence == models::Sequence::decoded ? decoder_seq : seq;
    }
    /// Of a sequence.
    [[nodiscard]] std::uint32_t documents() const {
        return document_length > 0 && document_length < seq ? seq / document_length : 1;
    }
    /// Tokens of a step, of both sequences where there are two.
    [[nodiscard]] double tokens() const {
        return static_cast<double>(global_batch) * (static_cast<double>(seq) + decoder_seq);
    }
    /// Tokens that an expert rank takes when the routers send it `load` times its mean share, over that mean.
    [[nodiscard]] double taken(double load) const {
        if (expert_capacity == 0) return load;
        return pad_to_capacity || load > expert_capacity ? expert_capacity : load;
    }
};

}  // namespace orrery::strategies
