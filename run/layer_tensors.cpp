#include "run/layer_tensors.hpp"

#include <utility>

namespace orrery::run {

LayerTensors::LayerTensors(const models::Model& model)
    : nodes_(model.nodes), last_taker_(nodes_.size()), outputs_(nodes_.size()), gradients_(nodes_.size()) {
    for (std::uint32_t node = 0; node < nodes_.size(); ++node)
        for (const std::uint32_t input : nodes_[node].inputs) last_taker_[input] = node;
}

Tensor* LayerTensors::of_input(std::vector<Tensor>& from, std::uint32_t node, std::size_t index) const {
    const std::vector<std::uint32_t>& inputs = nodes_[node].inputs;
    return index < inputs.size() ? &from[inputs[index]] : nullptr;
}

Tensor LayerTensors::input(std::uint32_t node, std::size_t index) {
    Tensor* const output = of_input(outputs_, node, index);
    if (output == nullptr) return nullptr;
    return last_taker_[nodes_[node].inputs[index]] == node ? std::exchange(*output, nullptr) : *output;
}

Taken LayerTensors::taken_forward(std::uint32_t node) { return {.first = input(node, 0), .second = input(node, 1)}; }

void LayerTensors::left_forward(std::uint32_t node, Left left) {
    if (left.first) outputs_[node] = std::move(left.first);
}

Taken LayerTensors::taken_backward(std::uint32_t node) {
    const auto before = [&](std::size_t index) {
        Tensor* const gradient = of_input(gradients_, node, index);
        return gradient == nullptr ? nullptr : std::exchange(*gradient, nullptr);
    };
    Taken taken{.first = std::exchange(gradients_[node], nullptr)};
    taken.before = before(0);
    taken.second_before = before(1);
    return taken;
}

void LayerTensors::left_backward(std::uint32_t node, Left left) {
    if (left.first) *of_input(gradients_, node, 0) = std::move(left.first);
    if (left.second) *of_input(gradients_, node, 1) = std::move(left.second);
}

Tensor LayerTensors::output(std::uint32_t node) { return std::exchange(outputs_[node], nullptr); }

Tensor LayerTensors::input_gradient(std::uint32_t node) {
    Tensor* const gradient = of_input(gradients_, node, 0);
    return gradient == nullptr ? nullptr : std::exchange(*gradient, nullptr);
}

}  // namespace orrery::run
