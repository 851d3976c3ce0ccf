// What one rank holds of a model: the parameters of its layers, and the tokens of a step.
#pragma once

#include <map>
#include <vector>

#include "models/operators.hpp"
#include "run/narrow_weights.hpp"
#include "run/parameters.hpp"
#include "run/step_data.hpp"

namespace orrery::run {

/// Layers by their index among the model's nodes, from 0 for the first of the body: -1 is the embedding of one stack.
class StageModel {
public:
    StageModel(kernels::Device& device, const Place& place, const RunSettings& settings);

    [[nodiscard]] Parameters& parameters() { return parameters_; }
    [[nodiscard]] const Parameters& parameters() const { return parameters_; }
    [[nodiscard]] const NarrowWeights& narrow_weights() const { return narrow_weights_; }
    [[nodiscard]] StepData& data() { return data_; }
    [[nodiscard]] const StepData& data() const { return data_; }
    /// The element of the flat buffers at which a layer's parameter begins, by its index in LayerFlow::parameters.
    [[nodiscard]] std::uint64_t offset(std::int32_t layer, std::uint32_t parameter) const {
        return offsets_.at(layer)[parameter];
    }
    [[nodiscard]] bool last_stage() const { return offsets_.contains(index_of(models::Part::output)); }
    [[nodiscard]] const models::Model& model() const { return model_; }
    /// Of a layer among the model's nodes.
    [[nodiscard]] std::uint32_t node(std::int32_t layer) const {
        return static_cast<std::uint32_t>(layer - index_of(models::Part::input));
    }

private:
    /// The first layer of a part.
    [[nodiscard]] std::int32_t index_of(models::Part part) const;
    /// The names that a layer's parameters have in the model.
    [[nodiscard]] std::vector<std::string> add_layer(std::int32_t layer,
                                                     const std::vector<strategies::Parameter>& parameters);

    const Place& place_;
    Parameters parameters_;
    NarrowWeights narrow_weights_;
    StepData data_;
    models::Model model_;
    std::map<std::int32_t, std::vector<std::uint64_t>> offsets_;
};

}  // namespace orrery::run
