// What one rank holds of a model: the parameters of its layers, and the tokens of a step.
#pragma once

#include <map>
#include <vector>

#include "run/parameters.hpp"
#include "run/step_data.hpp"

namespace orrery::run {

/// Layers by their index in the model: -1 the embedding, spec.layers the head.
class StageModel {
public:
    StageModel(kernels::Device& device, const Place& place, const RunSettings& settings);

    [[nodiscard]] Parameters& parameters() { return parameters_; }
    [[nodiscard]] const Parameters& parameters() const { return parameters_; }
    [[nodiscard]] StepData& data() { return data_; }
    [[nodiscard]] const StepData& data() const { return data_; }
    /// The element of the flat buffers at which a layer's parameter begins, by its index in LayerFlow::parameters.
    [[nodiscard]] std::uint64_t offset(std::int32_t layer, std::uint32_t parameter) const {
        return offsets_.at(layer)[parameter];
    }
    [[nodiscard]] bool last_stage() const {
        return offsets_.contains(static_cast<std::int32_t>(place_.plan.model.layers));
    }

private:
    /// The names that a layer's parameters have in the model.
    [[nodiscard]] std::vector<std::string> add_layer(std::int32_t layer,
                                                     const std::vector<strategies::Parameter>& parameters);

    const Place& place_;
    Parameters parameters_;
    StepData data_;
    std::map<std::int32_t, std::vector<std::uint64_t>> offsets_;
};

}  // namespace orrery::run
