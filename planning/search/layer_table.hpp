// Times and bytes of a model's layers under one way of splitting them: what plans share that differ in pipeline, data
// ranks, sharding and overlap alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "planning/search/prices.hpp"

namespace orrery::planning {

/// Calls of one kind over a run of layers.
struct CallSums {
    double device = 0;   ///< seconds, one behind the other on a free device
    double host = 0;     ///< seconds that the host takes to issue them
    double kernels = 0;  ///< of the device's those of kernels with no collective of the layer beside them
    CallSums operator-(const CallSums& other) const {
        return {device - other.device, host - other.host, kernels - other.kernels};
    }
    CallSums& operator+=(const CallSums& other) {
        device += other.device;
        host += other.host;
        kernels += other.kernels;
        return *this;
    }
};

/// A run of layers [first, last) of the model's nodes, those before `again_until` recomputed where a plan recomputes.
struct Run {
    std::uint32_t first = 0, last = 0, again_until = 0;
};

/// A number for each way to run layers again.
std::uint32_t again_key(const strategies::Strategy& strategy);

class LayerTable {
public:
    /// Everything that decides it.
    using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                           std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                           std::uint8_t>;
    static Key key(const strategies::Plan& plan);

    /// prices must have been placed for the plan. kind: of GPU, as Prices::blocks() has it; none: the least of all
    /// kinds.
    LayerTable(const strategies::Plan& plan, const Prices& prices, std::optional<std::uint32_t> kind = {},
               OnOtherKinds collectives = OnOtherKinds::the_same);

    /// The layers of chunk `chunk` of stage `stage`.
    [[nodiscard]] Run run(const strategies::Plan& plan, std::uint32_t stage, std::uint32_t chunk) const;

    [[nodiscard]] CallSums forward(const Run& run) const { return forward_[run.last] - forward_[run.first]; }
    /// Whole, or where the schedule splits it the gradient of inputs.
    [[nodiscard]] CallSums backward(const Run& run) const {
        CallSums sums = again_.backward[run.again_until] - again_.backward[run.first];
        return sums += plain_.backward[run.last] - plain_.backward[run.again_until];
    }
    [[nodiscard]] CallSums weight_gradient(const Run& run) const {
        return weight_gradient_[run.last] - weight_gradient_[run.first];
    }
    /// All three.
    [[nodiscard]] CallSums pass(const Run& run) const {
        CallSums sums = forward(run);
        sums += backward(run);
        return sums += weight_gradient(run);
    }
    /// Bytes kept of one micro-batch.
    [[nodiscard]] std::uint64_t saved(const Run& run) const {
        return again_.saved[run.again_until] - again_.saved[run.first] + plain_.saved[run.last] -
               plain_.saved[run.again_until];
    }
    /// Of these, those of the first layers of the chunk that can be offloaded.
    [[nodiscard]] std::uint64_t saved_of_first(const Run& run, std::uint32_t layers) const;
    /// The same of the layer behind the first so many of the chunk.
    [[nodiscard]] std::uint64_t saved_of(const Run& run, std::uint32_t layer) const {
        return saved_of_first(run, layer + 1) - saved_of_first(run, layer);
    }
    /// Bytes that the last layer's backward needs beside what is kept.
    [[nodiscard]] std::uint64_t working(const Run& run) const;

    [[nodiscard]] std::uint64_t parameters(const Run& run) const {
        return parameters_[run.last] - parameters_[run.first];
    }
    [[nodiscard]] std::uint64_t expert_parameters(const Run& run) const {
        return expert_parameters_[run.last] - expert_parameters_[run.first];
    }
    [[nodiscard]] std::uint64_t replicated_parameters(const Run& run) const {
        return replicated_parameters_[run.last] - replicated_parameters_[run.first];
    }
    /// Weights of narrow products, of experts or all others.
    [[nodiscard]] std::uint64_t narrow(const Run& run, bool experts) const {
        const std::vector<std::uint64_t>& sums = experts ? narrow_experts_ : narrow_;
        return sums[run.last] - sums[run.first];
    }
    /// The model's nodes; those of its body, which stages divide, are [body_begin, body_end).
    [[nodiscard]] std::uint32_t nodes() const { return end_; }
    [[nodiscard]] std::uint32_t body_begin() const { return body_; }
    [[nodiscard]] std::uint32_t body_end() const { return output_; }
    /// Of a run's layers those of the body.
    [[nodiscard]] Run body_of(const Run& run) const {
        const std::uint32_t first = std::max(run.first, body_), last = std::min(run.last, output_);
        return {first, last, std::clamp(run.again_until, first, last)};
    }
    /// A run's layer number `number` by itself.
    [[nodiscard]] static Run single_of(const Run& run, std::uint32_t number) {
        const std::uint32_t node = run.first + number;
        return {node, node + 1, node < run.again_until ? node + 1 : node};
    }
    /// Parameters of node `node` by itself.
    [[nodiscard]] Run single(std::uint32_t node) const { return {node, node + 1, node}; }
    /// The types of layer, and which node is of which.
    [[nodiscard]] std::uint32_t type(std::uint32_t node) const { return type_[node]; }
    [[nodiscard]] std::uint32_t types() const { return types_; }

private:
    struct Mode {
        std::vector<CallSums> backward;
        std::vector<std::uint64_t> saved;
        std::vector<std::uint64_t> working;  ///< by node, not summed
    };
    void add(Mode& mode, const CallSums& backward, std::uint64_t saved, std::uint64_t working);

    std::uint32_t body_ = 0, output_ = 0, end_ = 0, types_ = 0;
    std::vector<std::uint32_t> type_;
    // Sums over the nodes before the index.
    std::vector<CallSums> forward_, weight_gradient_;
    std::vector<std::uint64_t> parameters_, expert_parameters_, replicated_parameters_, narrow_, narrow_experts_;
    Mode plain_, again_;
};

}  // namespace orrery::planning
