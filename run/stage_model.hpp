// What one rank holds of a model: the operators of its layers, their parameters, and the tokens of a step.
#pragma once

#include <map>
#include <vector>

#include "run/operators/operator.hpp"
#include "strategies/gradient_buckets.hpp"

namespace orrery::run {

/// Layers by their index in the model: -1 the embedding, spec.layers the head.
class StageModel {
public:
    StageModel(kernels::Device& device, const Place& place, const RunSettings& settings);

    [[nodiscard]] std::vector<Made>& operators(std::int32_t layer) { return layers_.at(layer); }
    [[nodiscard]] Parameters& parameters() { return parameters_; }
    [[nodiscard]] const Parameters& parameters() const { return parameters_; }
    [[nodiscard]] bool first_stage() const { return layers_.contains(-1); }
    [[nodiscard]] bool last_stage() const {
        return layers_.contains(static_cast<std::int32_t>(place_.plan.model.layers));
    }

    /// Places the ids and targets of a step in device memory; the device is synchronised.
    void upload(const std::vector<std::vector<std::int32_t>>& sequences);
    /// The mean loss over this rank's tokens of the step, on the last stage, after it ended.
    [[nodiscard]] double loss();

private:
    void add_layer(std::int32_t layer, const models::Layer& operators);
    Made make_operator(const models::Layer& layer, std::size_t i, const std::string& prefix);
    void make_tables();

    kernels::Device& device_;
    const Place& place_;
    Parameters parameters_;
    StepData data_;
    DeviceMemory ids_, targets_, loss_, tables_, zeros_;
    std::map<std::int32_t, std::vector<Made>> layers_;
};

}  // namespace orrery::run
