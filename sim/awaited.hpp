// For what the compute lane waits: the other lanes whose work an operation needs.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "strategies/step_program.hpp"

namespace orrery::sim {

/// Lanes by what moves on them.
enum class Traffics : std::uint8_t { tensor, experts, data, messages, copies };
inline constexpr std::size_t traffics = 5;
Traffics traffic_of(strategies::Lane lane);

/// A set of them.
struct Causes {
    std::uint8_t bits = 0;
    [[nodiscard]] bool has(Traffics traffic) const { return (bits >> static_cast<std::uint8_t>(traffic) & 1U) != 0; }
    void add(Traffics traffic) { bits = static_cast<std::uint8_t>(bits | 1U << static_cast<std::uint8_t>(traffic)); }
    static Causes all() { return {(1U << traffics) - 1}; }
};

/// Goes through a program's operations in order. What strategies::Hazards would say of the compute lane, without what
/// an operation before has waited for already.
class Awaited {
public:
    explicit Awaited(const strategies::Program& program)
        : program_(program), uses_(program.buffers.size()), behind_copies_(program.ops.size()) {}

    /// An operation of another lane is issued.
    void issue(const strategies::Op& op, std::uint32_t index);
    /// An operation of the compute lane: what it waits for that nothing before it on this lane has, and copies that
    /// those wait for in turn: a gather of weights that a drive or the host brings.
    Causes wait(const strategies::Op& op);

private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    /// By operations of other lanes.
    struct Use {
        bool any = false;
        std::uint32_t writer = none;
        std::array<std::uint32_t, traffics> readers{none, none, none, none, none};
    };
    void wait_for(std::uint32_t other, Causes& causes);

    const strategies::Program& program_;
    std::vector<Use> uses_;            // of each buffer
    std::vector<bool> behind_copies_;  // of each operation: it waits for one, maybe through others
    std::array<std::uint32_t, strategies::lanes> joined_{};  // operations of each lane before this index have ended
};

}  // namespace orrery::sim
