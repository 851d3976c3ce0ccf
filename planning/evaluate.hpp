// One scenario's prediction as planning needs it: the one place that calls the simulator.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "calibrate/profile_store.hpp"
#include "scenarios/scenario.hpp"

namespace orrery::sim {
class Session;
}

namespace orrery::planning {

/// What a prediction says that plans are compared by.
struct Outcome {
    std::uint32_t gpus = 0;
    double step_s = 0;
    double tokens_per_s = 0;
    double flops_per_gpu = 0;  ///< FLOP/s of the model, no recomputation counted
    double mfu = 0, hfu = 0;
    double scale_factor = 0;     ///< 0: not asked
    double training_time_s = 0;  ///< of the steps for outputs.token_budget; 0: not asked
    /// Of the same with failures, checkpoints and input, where the scenario has these; 0: it has not.
    double wall_clock_s = 0;
    double trained_tokens_per_s = 0;                       ///< of that whole run; else of the steps
    std::uint64_t memory_needed = 0, memory_capacity = 0;  ///< bytes, of the stage with the least left
    bool fits = true;
    std::string bottleneck;

    /// Bytes that the fullest GPU has left; below 0 where it does not fit.
    [[nodiscard]] double headroom() const {
        return static_cast<double>(memory_capacity) - static_cast<double>(memory_needed);
    }
    /// Until the token budget is trained, whatever is known of it.
    [[nodiscard]] double whole_run_s() const { return wall_clock_s > 0 ? wall_clock_s : training_time_s; }
    bool operator==(const Outcome&) const = default;
};

/// A member of Outcome under the name that files give it.
struct OutcomeField {
    using Member = std::variant<double Outcome::*, std::uint32_t Outcome::*, std::uint64_t Outcome::*, bool Outcome::*,
                                std::string Outcome::*>;
    std::string_view name;  ///< with its unit: "step_time_s"
    Member member;
};
/// All of them, in the order in which files have them.
const std::array<OutcomeField, 14>& outcome_fields();

/// Simulates it. scale_factor: that of one model replica too. session: what many of them share, which changes none.
/// Threads may ask at once. Throws Error for whatever makes the scenario impossible.
Outcome evaluate(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles, bool scale_factor = false,
                 sim::Session* session = nullptr);

}  // namespace orrery::planning
