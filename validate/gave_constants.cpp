#include "validate/gave_constants.hpp"

#include <algorithm>
#include <array>

namespace orrery::validate {

std::span<const GaveConstant> rows_that_gave_constants() {
    static constexpr std::string_view host = "PerKernel (hardware/host_time.cpp)";
    static constexpr GaveConstant rows[] = {
        {"mcore/gpt/gpt3_mcore_tp4_pp1_resume_torch_dist/dev_dgx_a100", host},
        {"mcore/gpt/gpt3_mcore_tp4_pp1_resume_torch_dist/dev_dgx_h100", host},
        {"mcore/gpt/gpt3_mcore_tp4_pp1_resume_torch_dist/dev_dgx_gb200", host},
        {"mcore/gpt/gpt3_mcore_te_tp2_pp2_cross_entropy_loss_fusion/dev_dgx_a100", host},
        {"mcore/gpt/gpt3_mcore_te_tp2_pp2_cross_entropy_loss_fusion/dev_dgx_h100", host},
        {"mcore/gpt/gpt3_mcore_te_tp2_pp2_cross_entropy_loss_fusion/dev_dgx_gb200", host},
        {"coll/dgx1-4nic", "nccl_share (hardware/frames.hpp)"},
        {"coll/a100-4xhdr/24", "nccl_share (hardware/frames.hpp)"},
        {"bigscience/coll/n16_32gb_all_reduce_bench", "omni_path_share (hardware/datasheets.hpp)"},
        {"bigscience/coll/all_reduce_bench-32gb-n4", "omni_path_share (hardware/datasheets.hpp)"},
        {"bigscience/coll/all_reduce_bench-a100-n4", "omni_path_share (hardware/datasheets.hpp)"},
    };
    return rows;
}

bool looked_at(std::string_view source) {
    // Host time per kernel: vtrain_single, megatron_ci_tiny. Payload of Omni-Path: bigscience's own logs. Which
    // attention kernel LLM Foundry's script runs was looked up because errors were seen to grow with its sequences, and
    // the rate of tokens' copies to experts, FBGEMM's, because Megatron-Bridge's experts were seen to take too long.
    // That tensor ranks take a whole dimension of a torus was looked up because rows of google_maxtext were too slow.
    // What TensorFlow's mixed precision leaves in fp32 was looked up because its BERTs were seen to be too fast there,
    // and when Megatron-LM began to run collectives beside weight gradients because steps of large_models were too
    // slow. That Whale's BERT clips its gradients before they are reduced was looked up because it scaled too well.
    // What a product costs that adds to sums was looked for because steps of flagperf and nvidia_nemo_docs on H100 were
    // too fast, and on which generation it shows was decided with A100's zero_bubble and large_models in view. What
    // NVIDIA's launch scripts set was read because of nvidia_megatron_bridge, and taken for all of its tables with the
    // errors of nvidia_dgxc_benchmarking in view; so were multiprocessors that overlapped products leave alone. Why
    // steps with tensor ranks of bigscience_more are too fast was looked for, in vain. That InfiniBand spreads packets
    // was looked up because a step of mlperf_pretraining on 11,616 GPUs was too slow where one on 10,752 was right.
    // How weights and inputs in fp8 are kept was looked up because jobs of mlperf_finetuning that ran were said not to
    // fit their GPUs. Which layers nemo_automodel's adapters are of was read because its fine-tuning was too fast.
    // Whose attention PyTorch has was decided with fms_fsdp's steps on H100, too fast, in view; what TorchTitan's
    // checkpoints keep, and which of its products and heads are apart, was read because torchtitan's were too fast.
    static constexpr std::array<std::string_view, 21> sources{"vtrain_single",
                                                              "megatron_ci_tiny",
                                                              "bigscience",
                                                              "bigscience_more",
                                                              "collectives",
                                                              "google_maxtext",
                                                              "mosaicml_llm_foundry",
                                                              "nvidia_megatron_bridge",
                                                              "nvidia_dle",
                                                              "oneflow_dlperf",
                                                              "large_models",
                                                              "whale",
                                                              "flagperf",
                                                              "nvidia_nemo_docs",
                                                              "nvidia_dgxc_benchmarking",
                                                              "zero_bubble",
                                                              "mlperf_pretraining",
                                                              "mlperf_finetuning",
                                                              "nemo_automodel",
                                                              "fms_fsdp",
                                                              "torchtitan"};
    return std::ranges::find(sources, source) != sources.end();
}

bool memory_looked_at(std::string_view source) {
    static constexpr std::array<std::string_view, 5> sources{"megatron_ci_tiny", "bigscience", "bigscience_more",
                                                             "oneflow_dlperf", "torchtitan"};
    return std::ranges::find(sources, source) != sources.end();
}

const GaveConstant* gave_constant(std::string_view row) {
    const auto rows = rows_that_gave_constants();
    const auto found = std::ranges::find(rows, row, &GaveConstant::row);
    return found == rows.end() ? nullptr : &*found;
}

}  // namespace orrery::validate
