// Binding: from an operation of a program to a call on a device, with every address known.
#pragma once

#include <functional>
#include <vector>

#include "kernels/device.hpp"
#include "run/arena.hpp"
#include "run/elements.hpp"
#include "run/groups.hpp"
#include "run/parameters.hpp"
#include "run/place.hpp"
#include "run/step_numbers.hpp"
#include "run/transients.hpp"

namespace orrery::run {

/// Queues what one operation does on a stream; called once a step.
using Action = std::function<void(kernels::Stream)>;

/// Actions one after the other.
Action in_order(std::vector<Action> actions);

/// What every operation is bound with.
struct Bind {
    kernels::Device& device;
    const Place& place;
    Parameters& parameters;
    const Groups& groups;
    Arena& arena;
    Transients& transients;
    const StepNumbers& numbers;

    [[nodiscard]] void* at(const Tensor& tensor) const { return arena.at(tensor); }
    [[nodiscard]] Action launch(const kernels::Kernel& kernel, std::vector<void*> operands,
                                const kernels::Settings& settings = {}) const;
    [[nodiscard]] Action copy(void* to, const void* from, std::uint64_t bytes) const;
    /// Does nothing in a group of one rank whose send and receive are the same memory, and copies otherwise.
    /// One that is brought about by an all_reduce leaves sums in `send`.
    [[nodiscard]] Action collective(const strategies::Collective& what, strategies::Lane lane, void* send,
                                    void* receive, kernels::Dtype dtype,
                                    kernels::Reduction reduction = kernels::Reduction::sum) const;
    /// Between stages of the pipeline.
    [[nodiscard]] Action send(const strategies::Send& what, strategies::Lane lane, const void* from) const;
    [[nodiscard]] Action receive(const strategies::Recv& what, strategies::Lane lane, void* to) const;

private:
    [[nodiscard]] Action keep_part(kernels::Communicator& group, const strategies::Collective& what, void* send,
                                   void* receive, kernels::Dtype dtype, kernels::Reduction reduction) const;
};

}  // namespace orrery::run
