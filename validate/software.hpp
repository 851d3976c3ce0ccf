// The training software behind a row. Published tables rarely print how kernels were written and what overlapped, but
// they name the framework, and the framework's defaults of the time answer it.
#pragma once

#include <cstdint>
#include <string>

#include "hardware/host_time.hpp"
#include "strategies/plan.hpp"
#include "validate/row.hpp"

namespace orrery::validate {

enum class Software : std::uint8_t {
    megatron_2021,       ///< Megatron-LM up to August 2021, and whatever ran it on V100
    megatron_local,      ///< of September 2021 to March 2024: its own layers, attention not fused unless told
    megatron_core,       ///< Megatron-LM of today, on Transformer Engine
    megatron_deepspeed,  ///< the fork of 2021 on DeepSpeed's pipeline and ZeRO
    nemo,                ///< NeMo and Megatron-Bridge: Megatron-core with the switches of its performance recipes
    data_parallel,       ///< PyTorch, TensorFlow, MXNet, PaddlePaddle, OneFlow with overlapped gradient reduction
    jax,                 ///< MaxText, Pax
    other,
};

/// Megatron-LM's code before Transformer Engine was its default, and the fork of 2021.
constexpr bool is_early_megatron(Software s) {
    return s == Software::megatron_2021 || s == Software::megatron_local || s == Software::megatron_deepspeed;
}
/// Megatron-LM of any time, run by its own scripts.
constexpr bool is_megatron(Software s) { return is_early_megatron(s) || s == Software::megatron_core; }

/// Every text of "source" (repository, path, paper, address), lower case, and "source" itself when it is a text.
std::string source_words(const Row& row);

/// From switches.framework, else from the row's source (repository, paper, path); the age from years and arXiv
/// numbers in them. Throws Skip for fields of a wrong type.
Software software_of(const Row& row);

/// What dispatched its kernels.
hardware::Software dispatcher_of(const Row& row, Software software);

/// Whether the ZeRO-3 of such a row is DeepSpeed's of before 0.6.0 (March 2022): where the row is dated before and
/// names DeepSpeed or is Megatron-LM's, which had none of its own, and where it names DeepSpeed, undated, on V100.
bool runs_first_zero_3(const Row& row, Software software);

/// Whether it is software on PyTorch that never runs attention kernel by kernel.
bool fuses_attention(const Row& row);
/// Whose fused attention it runs.
hardware::AttentionKernel attention_kernel_of(const Row& row, Software software);

/// Where its loss over words leaves what it works out: LLM Foundry's MPT takes flash-attention's kernels unless told
/// otherwise (modeling_mpt.py, loss_fn: fused_crossentropy).
strategies::CrossEntropy cross_entropy_of(const Row& row);

/// Whether its tensor ranks are PyTorch's own (torch.distributed.tensor), whose autograd keeps gathered inputs.
bool runs_on_dtensors(const Row& row);

/// Whether queries and keys are rotated as complex numbers.
bool rotates_complex_numbers(const Row& row);

/// Whether attention takes shared heads of keys and values as they are.
bool takes_shared_heads(const Row& row, Software software);

/// Whether queries, keys and values are one product, and a gate one with its MLP's first matrix.
bool fuses_qkv(const Row& row, Software software, models::Family family);
bool fuses_gate(const Row& row, Software software);

/// Whether its RMSNorm is one kernel.
bool fuses_rms_norm(const Row& row, Software software);

/// Whether a bias, the activation behind it and its gate are one kernel.
bool fuses_activation(const Row& row, Software software, const models::ModelSpec& model);

/// Whether a layer, or what of it, that runs again stops before its last product.
bool stops_recomputing_early(const Row& row, Software software, strategies::Recompute recompute);

/// Whether its mixed precision keeps activations in fp32 outside of products and attention.
bool widens_activations(const Row& row, Software software);

/// What its kernels are, between products.
strategies::KernelFusion kernel_fusion_of(const Row& row, Software software);

}  // namespace orrery::validate
