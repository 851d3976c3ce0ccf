// Numbers of a rank's parameters: of a piece, of a layer, of a stage.
#pragma once

#include <cstdint>

namespace orrery::strategies {

struct ParameterCounts {
    std::uint64_t trained = 0;  ///< with gradients and states
    /// Of these, those that every tensor rank holds: norms, biases after a reduction, position tables. Under sequence
    /// parallelism each rank sees only its tokens, so that their gradients must be summed over the tensor axis.
    std::uint64_t replicated = 0;
    std::uint64_t experts = 0;         ///< of `trained`: reduced over the expert-data group
    std::uint64_t frozen = 0;          ///< beside `trained`: without gradients and states
    std::uint64_t frozen_experts = 0;  ///< of these, those of experts
    std::uint64_t quantized = 0;       ///< of those that are frozen, in four bits

    [[nodiscard]] std::uint64_t all() const { return trained + frozen; }
    [[nodiscard]] std::uint64_t all_experts() const { return experts + frozen_experts; }
    /// Those of experts, or all others.
    [[nodiscard]] std::uint64_t trained_of(bool of_experts) const { return of_experts ? experts : trained - experts; }
    /// The same with the frozen ones.
    [[nodiscard]] std::uint64_t of(bool of_experts) const { return of_experts ? all_experts() : all() - all_experts(); }

    ParameterCounts& operator+=(const ParameterCounts& other) {
        trained += other.trained;
        replicated += other.replicated;
        experts += other.experts;
        frozen += other.frozen;
        frozen_experts += other.frozen_experts;
        quantized += other.quantized;
        return *this;
    }
    bool operator==(const ParameterCounts&) const = default;
};

}  // namespace orrery::strategies
