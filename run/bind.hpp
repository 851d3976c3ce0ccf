// Binding: from an operation of a program to a call on a device, with every address known.
#pragma once

#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "kernels/device.hpp"
#include "run/arena.hpp"
#include "run/elements.hpp"
#include "run/groups.hpp"
#include "run/owned_memory.hpp"
#include "run/parameters.hpp"
#include "run/place.hpp"

namespace orrery::run {

/// Queues what one operation does on a stream; called once a step.
using Action = std::function<void(kernels::Stream)>;

/// Actions one after the other.
Action in_order(std::vector<Action> actions);

/// What the operators of a stage share while they are bound, in program order: micro-batches never interleave in it,
/// so that one current activation and one current gradient are enough.
struct Bind {
    kernels::Device& device;
    const Place& place;
    Parameters& parameters;
    const Groups& groups;
    Arena& arena;

    /// What the last operator left: its output, or the gradient of its input.
    Tensor value{}, gradient{};
    /// The input of the open branch, and the gradient that goes around it.
    Tensor residual{}, skip{};
    /// Beside a shared expert: what it takes and the routed experts take as well, and the gradient that these left.
    Tensor routed{}, routed_gradient{};

    [[nodiscard]] void* at(const Tensor& tensor) const { return arena.at(tensor); }
    [[nodiscard]] Action launch(const kernels::Kernel& kernel, std::vector<void*> operands,
                                const kernels::Settings& settings = {}) const;
    [[nodiscard]] Action copy(void* to, const void* from, std::uint64_t bytes) const;
    /// Elements of an activation, or of a gradient of one.
    [[nodiscard]] Tensor take(std::uint64_t elements) const {
        return arena.take(elements * kernels::size_of(place.activations()));
    }
    /// Its elements, for use by the current item.
    [[nodiscard]] Elements activations(const Tensor& tensor) const { return {at(tensor), place.activations()}; }
    /// What a kernel is told that adds to gradients of weights.
    [[nodiscard]] kernels::Settings into_gradients() const {
        kernels::Settings settings;
        settings.accumulate = true;
        settings.result = place.gradients();
        return settings;
    }
    /// Where a weight's gradient waits for the kernel that adds it: null where the product adds it.
    [[nodiscard]] Tensor* separate_gradient(Tensor& separate) const {
        return place.plan.training.gradient_accumulation_fusion ? nullptr : &separate;
    }
    /// Does nothing in a group of one rank whose send and receive are the same memory, and copies otherwise.
    [[nodiscard]] Action collective(const strategies::Collective& what, strategies::Lane lane, const void* send,
                                    void* receive, kernels::Dtype dtype,
                                    kernels::Reduction reduction = kernels::Reduction::sum) const;
    /// A sum, or a move, of activations.
    [[nodiscard]] Action collective(const strategies::Collective& what, strategies::Lane lane, const void* send,
                                    void* receive) const {
        return collective(what, lane, send, receive, place.activations());
    }
};

/// One operation as an operator sees it.
struct Site {
    std::string_view work;  ///< its name in the program
    strategies::Phase phase = strategies::Phase::forward;
    std::int32_t micro_batch = 0;
    strategies::Lane lane = strategies::Lane::compute;
    const kernels::Kernel* kernel = nullptr;             ///< of a kernel
    const strategies::Collective* collective = nullptr;  ///< of a collective
    bool keeps_input =
        true;  ///< forward: whether the operator's input, and the rest that its backward needs, stay until then
    bool keeps_rest = true;

    [[nodiscard]] bool forward() const {
        return phase == strategies::Phase::forward || phase == strategies::Phase::recompute;
    }
};

/// The value becomes the sum of the tensor ranks' values: in place, or this rank's rows of it.
Action reduce(Bind& bind, const Site& site, Tensor& tensor);
/// All tensor ranks' rows.
Action gather(Bind& bind, const Site& site, const Tensor& rows, Tensor& whole);
/// The gradient of a weight, by that of its product's result and by the product's input. Weights lie as [outputs,
/// inputs]: what the program forms, [inputs, outputs], is formed as its transpose. It is added to the others inside the
/// product, or left in `separate`, which then is not null, for a kernel that adds it.
Action weight_gradient(Bind& bind, const Site& site, const Tensor& dy, const Tensor& x, const std::string& weight,
                       Tensor* separate);

}  // namespace orrery::run
