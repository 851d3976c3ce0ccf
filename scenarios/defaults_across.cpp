#include "scenarios/defaults_across.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "scenarios/gpu_offers.hpp"

namespace orrery::scenarios {

namespace {

using documents::Reader;

/// PyTorch's own tensor parallelism (torch.distributed.tensor): autograd keeps gathered inputs, and forms both
/// gradients of a product before it reduces one.
void fill_tensor_ranks(const Reader& section, strategies::Plan& plan) {
    strategies::Strategy& strategy = plan.strategy;
    if (plan.training.software != hardware::Software::pytorch) return;
    if (!section.has("tp_recompute_allgather")) strategy.recompute_allgather = false;
    if (!section.has("async_tensor_allreduce")) strategy.async_tensor_allreduce = strategy.tensor_comm_overlap;
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

}  // namespace

void fill_across_sections(const Reader& strategy, const Reader& training, const topology::Cluster& cluster,
                          strategies::Plan& plan) {
    fill_tensor_ranks(strategy, plan);
    fill_attention(strategy, training, cluster, plan);
}

}  // namespace orrery::scenarios
