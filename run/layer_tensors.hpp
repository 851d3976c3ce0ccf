// What layers hand each other while a program is bound: outputs until the last layer that takes them has, gradients of
// outputs on their way back.
#pragma once

#include <cstdint>
#include <vector>

#include "models/operators.hpp"
#include "run/interpreter.hpp"

namespace orrery::run {

/// Of one micro-batch at a time: a stage runs its layers of a micro-batch without another between them. Layers by their
/// number among the model's nodes. A layer may be called in several parts: what one has taken is null to the next, and
/// what a part does not leave stays as it was.
class LayerTensors {
public:
    explicit LayerTensors(const models::Model& model);

    /// The layer's inputs.
    [[nodiscard]] Taken taken_forward(std::uint32_t node);
    void left_forward(std::uint32_t node, Left left);
    /// The gradient of its output, and what those of its inputs are so far.
    [[nodiscard]] Taken taken_backward(std::uint32_t node);
    void left_backward(std::uint32_t node, Left left);

    /// What another stage takes: the output, or the gradient of the first input. Nobody here does then.
    [[nodiscard]] Tensor output(std::uint32_t node);
    [[nodiscard]] Tensor input_gradient(std::uint32_t node);

private:
    /// Of a node's inputs the tensor number `index` of `from`, null where it has not so many.
    [[nodiscard]] Tensor* of_input(std::vector<Tensor>& from, std::uint32_t node, std::size_t index) const;
    [[nodiscard]] Tensor input(std::uint32_t node, std::size_t index);

    const std::vector<models::Node>& nodes_;
    std::vector<std::uint32_t> last_taker_;  ///< by node
    std::vector<Tensor> outputs_, gradients_;
};

}  // namespace orrery::run
