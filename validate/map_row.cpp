#include "validate/map_row.hpp"

#include <utility>

#include "hardware/compute_capability.hpp"
#include "validate/stated_keys.hpp"

namespace orrery::validate {

namespace {

/// Published pipelines that the schedules do not hold, named here rather than refused by the simulator.
void check_pipeline(const strategies::Plan& plan) {
    if (plan.strategy.virtual_pipeline > 1 && plan.micro_batches() % plan.strategy.pipeline != 0)
        throw Skip("interleaving needs micro-batches in multiples of the stages");
}

}  // namespace

scenarios::Scenario map_row(const Row& row, const HasProfile& has_profile) {
    check_supported(row);
    const Software software = software_of(row);
    const topology::Gpu& gpu = map_gpu(row, has_profile);
    scenarios::Scenario scenario;
    scenario.name = row.id();
    scenario.plan.model = map_model(row, software);
    const Parallelism degrees = map_parallelism(row, software);
    scenario.plan.strategy = map_strategy(row, software, degrees, scenario.plan.model.layers);
    const Batch batch = map_batch(row, degrees, map_precision(row));
    scenario.plan.training = map_training(row, software, gpu, batch);
    scenario.plan.training.enable_gqa = takes_shared_heads(row, software);
    scenario.plan.training.complex_rope = rotates_complex_numbers(row);
    scenario.plan.training.fused_qkv = fuses_qkv(row, software, scenario.plan.model.family);
    scenario.plan.training.fused_gate = fuses_gate(row, software);
    scenario.plan.training.fused_rms_norm =
        scenario.plan.model.norm != models::NormKind::rmsnorm || fuses_rms_norm(row, software);
    scenario.plan.training.bias_activation_fusion = fuses_activation(row, software, scenario.plan.model);
    scenario.cluster = map_cluster(row, gpu, degrees.gpus);
    scenario.gpus = degrees.gpus;
    scenario.profile = hardware::find(scenario.cluster.gpu)->profile;
    map_expert_parallelism(row, software, degrees, scenario.plan);
    read_stated_keys(row, scenario.plan);
    scenario.plan.fp8_either_order = hardware::takes_either_order(gpu.compute_capability);
    check_pipeline(scenario.plan);
    return scenario;
}

}  // namespace orrery::validate
