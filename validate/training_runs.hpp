// Published trainings from their first step to their last: GPU-hours, energy, goodput and failures.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"
#include "validate/row.hpp"

namespace orrery::validate {

/// What a row of kind "training_run" measured.
enum class Quantity : std::uint8_t {
    gpu_hours,  ///< "gpu_hours", or "days" on the row's GPUs
    goodput,    ///< "goodput": productive share of the wall clock; "goodput_at_least": a bound
    mttf,       ///< "mttf_hours": of the job
    energy,     ///< "energy_mwh"
};
inline constexpr std::array quantities{Quantity::gpu_hours, Quantity::goodput, Quantity::mttf, Quantity::energy};
/// "GPU-hours", ...
std::string_view name(Quantity quantity);

/// Those of a row. Throws Skip for fields of wrong types.
std::vector<Quantity> measured_quantities(const Row& row);

/// The score that a comparison belongs to: the quantity's, or one beside it where the row lacks what it follows from.
/// Of GPU-hours and energy, the plan ("plan": "assumed", a word of the row's author and not of our error); of MTTF, a
/// rate that was counted on the same cluster otherwise than by this job ("rate_of" says where).
std::string score_of(const Row& row, Quantity quantity);

/// A comparison; of goodput in shares of one, which are subtracted, of the others divided.
struct TrainingRunValues {
    double measured = 0, predicted = 0, error = 0;
};

/// The scenario that a row holds under "scenario", in the keys of scenario files: as published, and where "assumed"
/// says so, as assumed. It asks for the whole run. Throws Skip.
scenarios::Scenario training_run_scenario(const Row& row);

/// Compares one quantity; predict: of training_run_scenario(), called where the quantity needs it. Throws Skip, too for
/// what a constant was taken from ("origin_of") and for what its own source speaks against ("doubtful").
TrainingRunValues compare_training_run(const Row& row, Quantity quantity,
                                       const std::function<sim::Prediction(const scenarios::Scenario&)>& predict);

}  // namespace orrery::validate
