#include "validate/map_row.hpp"

#include <utility>

namespace orrery::validate {

scenarios::Scenario map_row(const Row& row, const HasProfile& has_profile) {
    check_supported(row);
    const Software software = software_of(row);
    const topology::Gpu& gpu = map_gpu(row, has_profile);
    scenarios::Scenario scenario;
    scenario.name = row.id();
    scenario.plan.model = map_model(row, software);
    const Parallelism degrees = map_parallelism(row);
    scenario.plan.strategy = map_strategy(row, software, degrees);
    const Batch batch = map_batch(row, degrees, map_precision(row));
    scenario.plan.training = map_training(row, software, gpu, batch);
    scenario.cluster = map_cluster(row, gpu, degrees.gpus);
    scenario.gpus = degrees.gpus;
    scenario.profile = gpu.profile;
    const std::uint32_t chunks = degrees.pipeline * scenario.plan.strategy.virtual_pipeline;
    if (scenario.plan.model.layers % chunks != 0) throw Skip("pipeline stages of unequal depth are not supported");
    return scenario;
}

}  // namespace orrery::validate
