#include "planning/search/open_plan.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace orrery::planning {

namespace {

constexpr std::array<std::string_view, 4> ones{"strategy.tensor", "strategy.pipeline", "strategy.data",
                                               "training.micro_batch_size"};
constexpr std::array<std::string_view, 51> defaults{"strategy.virtual_pipeline",
                                                    "strategy.expert",
                                                    "strategy.expert_tensor",
                                                    "strategy.sequence_parallel",
                                                    "strategy.schedule",
                                                    "strategy.sharding",
                                                    "strategy.recompute",
                                                    "strategy.recompute_num_layers",
                                                    "strategy.recompute_modules",
                                                    "strategy.synchronize_checkpoint_boundary",
                                                    "strategy.cpu_offloading_num_layers",
                                                    "strategy.optimizer_cpu_offload",
                                                    "strategy.optimizer_offload_fraction",
                                                    "strategy.overlap_cpu_optimizer_d2h_h2d",
                                                    "strategy.offload_optimizer_device",
                                                    "strategy.offload_optimizer_pipeline_read",
                                                    "strategy.offload_optimizer_pipeline_write",
                                                    "strategy.offload_param_device",
                                                    "strategy.overlap_grad_reduce",
                                                    "strategy.overlap_param_gather",
                                                    "strategy.overlap_p2p",
                                                    "strategy.scatter_gather",
                                                    "strategy.async_tensor_allreduce",
                                                    "strategy.tp_comm_overlap",
                                                    "strategy.tensor_mode",
                                                    "strategy.tensor_depth",
                                                    "strategy.placement",
                                                    "strategy.placement_file",
                                                    "strategy.num_distributed_optimizer_instances",
                                                    "strategy.split_classes",
                                                    "strategy.num_layers_in_first_pipeline_stage",
                                                    "strategy.num_layers_in_last_pipeline_stage",
                                                    "strategy.account_for_embedding_in_pipeline_split",
                                                    "strategy.account_for_loss_in_pipeline_split",
                                                    "strategy.pipeline_layers",
                                                    "strategy.replica_micro_batches",
                                                    "strategy.fsdp_reshard_after_forward",
                                                    "strategy.fsdp_layers_per_unit",
                                                    "strategy.fsdp_prefetch",
                                                    "strategy.fsdp_limit_all_gathers",
                                                    "strategy.fsdp_implementation",
                                                    "strategy.gradient_sync",
                                                    "strategy.zero_quantized_weights",
                                                    "strategy.zero_hpz_partition_size",
                                                    "strategy.zero_quantized_gradients",
                                                    "strategy.zero_ranks_per_node",
                                                    "strategy.compression",
                                                    "strategy.powersgd_rank",
                                                    "strategy.compression_ratio",
                                                    "strategy.compression_passes",
                                                    "strategy.freeze_step"};

}  // namespace

std::vector<scenarios::Override> open_plan() {
    std::vector<scenarios::Override> changes;
    for (const std::string_view key : ones) changes.push_back({std::string(key), "1"});
    for (const std::string_view key : defaults) changes.push_back({std::string(key), "null"});
    return changes;
}

bool opens(std::string_view key) {
    return std::ranges::find(ones, key) != ones.end() || std::ranges::find(defaults, key) != defaults.end();
}

}  // namespace orrery::planning
