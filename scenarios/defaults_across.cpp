#include "scenarios/defaults_across.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "models/operators.hpp"
#include "scenarios/gpu_offers.hpp"
#include "strategies/zero_plus_plus.hpp"

namespace orrery::scenarios {

namespace {

using documents::Reader;

/// PyTorch's own tensor parallelism (torch.distributed.tensor): autograd keeps gathered inputs, and forms both
/// gradients of a product before it reduces one; and its context parallelism.
void fill_pytorch_ranks(const Reader& section, strategies::Plan& plan) {
    strategies::Strategy& strategy = plan.strategy;
    if (plan.training.software != hardware::Software::pytorch) return;
    if (!section.has("tp_recompute_allgather")) strategy.recompute_allgather = false;
    if (!section.has("batch_first")) strategy.batch_first = true;
    if (!section.has("templated_ring_attention")) strategy.templated_ring = plan.model.attention_window == 0;
    if (!section.has("async_tensor_allreduce")) strategy.async_tensor_allreduce = false;
}

/// DeepSpeed's fork of Megatron-LM, and GPT-NeoX, wait for an input's summed gradient before they form the weights'
/// (Megatron-DeepSpeed, megatron/arguments.py); what is scattered along sequences moves beside them.
void fill_deepspeed_ranks(const Reader& section, const Reader& training, strategies::Plan& plan) {
    if (training.choice("software", "") != "deepspeed" || section.has("async_tensor_allreduce")) return;
    plan.strategy.async_tensor_allreduce = plan.strategy.sequence_parallel;
}

/// DeepSpeed asks for so many elements of weights before their turn (stage3_prefetch_bucket_size, 5e7 unless a file
/// says otherwise; Hugging Face's "auto" is 0.9 of the hidden size squared): a part of a large model's layer.
void fill_prefetch(const Reader& section, strategies::Plan& plan) {
    constexpr std::uint64_t usual_bucket = 50'000'000;
    strategies::FullSharding& sharding = plan.strategy.full_sharding;
    if (section.has("fsdp_prefetch") || sharding.implementation != strategies::FsdpImplementation::deepspeed) return;
    if (plan.offloads_weights() || strategies::is_zero_plus_plus(plan.strategy)) return;  // their order is their own
    const models::Model model = models::build(plan.model);
    const bool larger = std::ranges::any_of(model.layers, [](const models::Layer& layer) {
        return layer.part == models::Part::body && models::parameters(layer) > usual_bucket;
    });
    if (larger) sharding.prefetch = 0;
}

[[noreturn]] void needs_fused(const Reader& section, const char* key, std::uint32_t value, const std::string& gpu) {
    throw Error(section.file(), section.pointer(key),
                fmt::format("{}, but no FlashAttention runs on {}, and parts of sequences need one", value, gpu),
                fmt::format("leave {} out, name an Ampere or newer GPU, or set training.fused_attention to true with a "
                            "profile of your own that has its times",
                            key));
}

/// GPUs that are too old for FlashAttention run attention kernel by kernel, of whole sequences, unless a file says that
/// theirs is fused.
void fill_attention(const Reader& strategy, const Reader& training, const topology::Cluster& cluster,
                    strategies::Plan& plan) {
    if (training.has("fused_attention") || have_flash_attention(cluster)) return;
    const std::string& gpu = cluster.gpu().name;
    if (plan.strategy.context > 1) needs_fused(strategy, "context", plan.strategy.context, gpu);
    if (plan.training.documents() > 1) needs_fused(training, "document_length", plan.training.document_length, gpu);
    plan.training.fused_attention = false;
}

/// torch.nn.functional.scaled_dot_product_attention on AMD's GPUs is AOTriton's (aten/src/ATen/Context.h: Composable
/// Kernel's is to be asked for).
void fill_attention_kernel(const Reader& training, const topology::Cluster& cluster, strategies::Plan& plan) {
    const bool of_amd = hardware::vendor(cluster.gpu().socket) == hardware::Vendor::amd;
    if (of_amd && training.choice("software", "") == "pytorch" && !training.has("attention_kernel"))
        plan.training.attention_kernel = hardware::AttentionKernel::flash_triton;
}

}  // namespace

void fill_across_sections(const Reader& strategy, const Reader& training, const topology::Cluster& cluster,
                          strategies::Plan& plan) {
    fill_pytorch_ranks(strategy, plan);
    fill_deepspeed_ranks(strategy, training, plan);
    fill_prefetch(strategy, plan);
    fill_attention(strategy, training, cluster, plan);
    fill_attention_kernel(training, cluster, plan);
}

}  // namespace orrery::scenarios
