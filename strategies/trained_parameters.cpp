#include "strategies/trained_parameters.hpp"

#include <vector>

#include "strategies/partition/tensor.hpp"
#include "strategies/stage.hpp"

namespace orrery::strategies {

namespace {

/// Of all tensor ranks. Experts have none.
std::uint64_t adapters_of(const models::Layer& layer, const Plan& plan) {
    const ParameterCounts counts = shard(layer, plan).counts();
    return (counts.trained - counts.replicated) * plan.strategy.tensor + counts.replicated;
}

}  // namespace

TrainedParameters trained_parameters(const Plan& plan) {
    const models::Model model = model_of(plan);
    const std::vector<std::uint64_t> uses = model.uses();
    const bool adapters_alone = plan.training.lora_rank > 0;
    TrainedParameters sum;
    for (std::size_t type = 0; type < uses.size(); ++type) {
        const models::Layer& layer = model.layers[type];
        const std::uint64_t own = uses[type] * models::parameters(layer);
        (adapters_alone || layer.frozen ? sum.frozen : sum.trained) += own;
        if (adapters_alone) sum.trained += uses[type] * adapters_of(layer, plan);
    }
    return sum;
}

}  // namespace orrery::strategies
