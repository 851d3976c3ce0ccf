#include "strategies/parameter_shape.hpp"

#include <algorithm>

namespace orrery::strategies {

std::vector<ParameterShape> parameter_shapes(const ShardedLayer& layer, const Plan& plan) {
    std::vector<ParameterShape> shapes;
    for (const Value& value : layer.flow.values) {
        if (value.role != Role::weight) continue;
        const Parameter& parameter = layer.flow.parameters[value.of];
        if (!parameter.held || !parameter.trained || value.elements == 0) continue;
        ParameterShape shape{.cols = parameter.cols, .split = parameter.split, .experts = parameter.experts > 0};
        if (shape.experts) shape.copies = plan.rank_experts(parameter.experts);
        if (shape.split == Parameter::Split::cols) shape.cols /= plan.strategy.tensor;
        shape.rows = value.elements / shape.copies / shape.cols;
        shape.words = parameter.name == word_embedding || parameter.real_rows != Parameter{}.real_rows;
        if (parameter.name == "qkv.weight")
            for (const std::uint64_t part : parameter.parts)
                shape.parts.push_back(shape.split == Parameter::Split::rows ? part / plan.strategy.tensor : part);
        shapes.push_back(std::move(shape));
    }
    for (const bool experts : {false, true}) {
        std::uint64_t left = layer.counts().trained_of(experts);
        for (const ParameterShape& shape : shapes)
            if (shape.experts == experts) left -= std::min(left, shape.numbers() * shape.copies);
        if (left > 0) shapes.push_back({.rows = left, .experts = experts});
    }
    return shapes;
}

}  // namespace orrery::strategies
