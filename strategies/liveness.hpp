// When a program's buffers are in use.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// First and last operation, in program order, that uses a buffer.
struct Uses {
    std::uint32_t first = std::numeric_limits<std::uint32_t>::max(), last = 0;

    [[nodiscard]] bool any() const { return first <= last; }
};

/// By buffer.
std::vector<Uses> uses(const Program& program);

/// Whether it is there from the step's beginning to its end.
inline bool lasting(const Buffer& buffer) { return buffer.lifetime.span == Lifetime::Span::step; }
inline std::uint64_t bytes_of(const Buffer& buffer) { return buffer.bytes * buffer.lifetime.versions; }

}  // namespace orrery::strategies
