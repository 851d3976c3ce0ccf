#include "run/stage_model.hpp"

#include <algorithm>
#include <stdexcept>

#include "run/slices.hpp"
#include "strategies/gradient_buckets.hpp"
#include "strategies/optimizer_offload.hpp"
#include "strategies/optimizer_phase.hpp"
#include "strategies/schedule/schedule.hpp"
#include "strategies/stage.hpp"

namespace orrery::run {

StageModel::StageModel(kernels::Device& device, const Place& place, const RunSettings& settings)
    : place_(place), parameters_(device, place), data_(device, place), model_(models::build(place.plan.model)) {
    const strategies::Plan& plan = place.plan;
    strategies::StepProgram program;
    strategies::Intern intern(program);
    const strategies::ModelBlocks blocks = strategies::add_model_blocks(program, intern, plan);
    const strategies::Stage stage = strategies::place_layers(blocks, plan, place.stage());
    const strategies::GradientBuckets buckets = strategies::gradient_buckets(stage, plan);
    std::map<std::int32_t, std::vector<std::string>> names;
    for (std::size_t c = stage.chunks.size(); c-- > 0;)
        for (std::size_t i = stage.chunks[c].size(); i-- > 0;) {
            const strategies::PlacedLayer& placed = stage.chunks[c][i];
            const strategies::LayerFlow& flow = program.flows[program.blocks[placed.blocks->forward].flow];
            parameters_.begin_layer(placed.layer, buckets.of_layer[c][i], buckets.of_experts[c][i]);
            const std::uint64_t before = parameters_.elements();
            names[placed.layer] = add_layer(placed.layer, flow.parameters);
            if (parameters_.elements() - before != placed.blocks->counts.trained)
                throw std::logic_error("the slices of a layer hold other parameters than its blocks count");
            for (const strategies::NarrowWeight& weight : placed.blocks->narrow)
                if (weight.parameter) narrow_weights_.add(placed.layer, *weight.parameter, weight.elements());
        }
    if (plan.offloaded_states() > 0)
        parameters_.leave_to_host(
            strategies::offloaded_of_buckets(plan, strategies::owned_parameters(plan, stage), buckets),
            plan.offloaded_states() == 1);
    parameters_.allocate(
        settings.seed, strategies::schedule_of(plan.strategy.schedule).versions(plan.pipeline_shape(), place.stage()));
    narrow_weights_.allocate(device);
    for (const auto& [layer, list] : names)
        for (const std::string& name : list) offsets_[layer].push_back(parameters_.offset(name));
}

std::int32_t StageModel::index_of(models::Part part) const {
    const auto first = [&](models::Part of) {
        return std::ranges::find_if(model_.nodes,
                                    [&](const models::Node& node) { return model_.layers[node.layer].part >= of; });
    };
    return static_cast<std::int32_t>(first(part) - first(models::Part::body));
}

std::vector<std::string> StageModel::add_layer(std::int32_t layer,
                                               const std::vector<strategies::Parameter>& parameters) {
    const bool block = model_.layers[model_.nodes[node(layer)].layer].part == models::Part::body;
    const std::string prefix = block ? "layer." + std::to_string(layer) + "." : "";
    std::vector<std::string> names;
    for (const strategies::Parameter& parameter : parameters) {
        Slice slice = slice_of(parameter, place_, prefix);
        names.push_back(slice.name);
        if (parameter.held) parameters_.add(std::move(slice));
    }
    return names;
}

}  // namespace orrery::run
