#include "cli/strategy_list.hpp"

#include <array>

namespace orrery::cli {

namespace {

// SC'21: Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM.
constexpr std::string_view sc21 = "Narayanan et al., SC'21";
constexpr std::string_view megatron_v1 = "Shoeybi et al. 2019, arXiv:1909.08053";
constexpr std::string_view korthikanti = "Korthikanti et al. 2022, arXiv:2205.05198";
constexpr std::string_view megatron_lm = "Megatron-LM";

constexpr std::array<StrategyKey, 20> table{{
    {"tensor", "<ranks>", "each layer's matrices are split over ranks", megatron_v1},
    {"pipeline", "<stages>", "layers are split into stages", "Huang et al. 2019, arXiv:1811.06965"},
    {"virtual_pipeline", "<chunks>", "model chunks a stage; more than 1 with the interleaved schedule", sc21},
    {"data", "<replicas>", "the batch is split over replicas; derived from the GPUs when absent",
     "Li et al. 2020, arXiv:2006.15704"},
    {"expert", "<ranks>", "experts are divided among so many ranks of data",
     "Lepikhin et al. 2020, arXiv:2006.16668 (GShard); Megatron-LM"},
    {"expert_tensor", "1 | <tensor>", "tensor ranks of an expert: whole experts, or split as the other layers are",
     megatron_lm},
    {"sequence_parallel", "false | true", "norms and dropout are split along the sequence", korthikanti},
    {"schedule", "gpipe | 1f1b | interleaved | zb-h1", "order of the micro-batches",
     "arXiv:1811.06965; Narayanan et al. 2021, arXiv:2006.09503; SC'21; Qi et al. 2023, arXiv:2401.10241"},
    {"sharding", "none | zero1 | zero2 | zero3 | hybrid",
     "zero1: the optimizer's states are split over replicas; the others are not yet predicted",
     "Rajbhandari et al. 2020, arXiv:1910.02054"},
    {"recompute", "none | selective | full", "activations computed again in the backward pass", korthikanti},
    {"recompute_num_layers", "<layers>", "full: how many layers of each chunk; 0: all", megatron_lm},
    {"cpu_offloading_num_layers", "<layers>", "first layers of each chunk whose activations wait in host memory",
     megatron_lm},
    {"overlap_grad_reduce", "false | true", "gradients are reduced beside the backward pass", megatron_lm},
    {"overlap_param_gather", "false | true", "zero1: parameters are gathered beside the forward pass", megatron_lm},
    {"overlap_p2p", "false | true", "interleaved: sends and receives beside the computation", megatron_lm},
    {"scatter_gather", "true | false", "tensor ranks send a part of a boundary tensor each", sc21},
    {"async_tensor_allreduce", "true | false", "backward collectives run beside the weight gradient", megatron_lm},
    {"bucket_size", "<bytes>", "gradients are reduced in buckets of this size", "arXiv:2006.15704"},
    {"placement", "linear | round_robin | row | column | average | <axes> | <GPUs>",
     "where ranks run; axes, the fastest first: tp-cp-ep-dp-pp; GPUs by rank: 0-3,8-11",
     "Megatron-LM; Jia et al., USENIX ATC'22 (Whale)"},
    {"placement_file", "<path>", "a list of GPUs by rank, text or JSON", "the same"},
}};

}  // namespace

std::span<const StrategyKey> strategy_keys() { return table; }

}  // namespace orrery::cli
