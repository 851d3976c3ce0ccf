// The table of collective algorithms: one row each.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/collective/schedule.hpp"

namespace orrery::sim {

struct Machine;  // nccl_tuning.hpp

/// Whose start-up latencies NCCL's tuning model gives it.
enum class Latencies : std::uint8_t { ring, tree, in_switch, in_network, messages };

struct Algorithm {
    std::string_view name;     ///< as `orrery collective --algorithm` takes it
    std::string_view summary;  ///< one line
    std::span<const kernels::CollectiveKind> kinds;
    Latencies latencies;
    bool protocols;  ///< LL and LL128 besides Simple
    Outline (*outline)(kernels::CollectiveKind kind, const Shape& shape);
    Schedule (*schedule)(kernels::CollectiveKind kind, const Group& group, double bytes);
    /// Whether it is weighed for a kind that it serves, on a machine that can, where nobody asks for one; null: never.
    bool (*automatic)(const Machine& machine, kernels::CollectiveKind kind, const Shape& shape) = nullptr;

    [[nodiscard]] bool serves(kernels::CollectiveKind kind) const;
};

std::span<const Algorithm> algorithms();
/// By name; throws Error with the nearest names, or, when it does not serve the kind, with those that do.
const Algorithm& find_algorithm(std::string_view name, kernels::CollectiveKind kind);

}  // namespace orrery::sim
