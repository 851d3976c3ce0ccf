// Which operations an operation waits for, derived from program order, lanes and buffers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strategies/step_program.hpp"

namespace orrery::strategies {

/// For every operation, the earlier operations of other lanes that must have ended: the last writer of what it reads
/// (read after write), the last writer and later readers of what it writes. Order within a lane is implied.
class Hazards {
public:
    explicit Hazards(const Program& program);
    [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t op) const {
        return {edges_.data() + begin_[op], begin_[op + 1] - begin_[op]};
    }
    /// Of all operations together.
    [[nodiscard]] std::size_t all() const { return edges_.size(); }

private:
    std::vector<std::uint32_t> begin_, edges_;
};

}  // namespace orrery::strategies
