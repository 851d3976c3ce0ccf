#include "planning/evaluate.hpp"

#include "reliability/goodput.hpp"
#include "sim/bottleneck.hpp"
#include "sim/predict.hpp"

namespace orrery::planning {

const std::array<OutcomeField, 14>& outcome_fields() {
    static const std::array<OutcomeField, 14> fields{{
        {"gpus", &Outcome::gpus},
        {"step_time_s", &Outcome::step_s},
        {"tokens_per_s", &Outcome::tokens_per_s},
        {"model_flops_per_gpu", &Outcome::flops_per_gpu},
        {"mfu", &Outcome::mfu},
        {"hfu", &Outcome::hfu},
        {"scale_factor", &Outcome::scale_factor},
        {"training_time_s", &Outcome::training_time_s},
        {"wall_clock_s", &Outcome::wall_clock_s},
        {"trained_tokens_per_s", &Outcome::trained_tokens_per_s},
        {"memory_needed_bytes", &Outcome::memory_needed},
        {"memory_capacity_bytes", &Outcome::memory_capacity},
        {"fits", &Outcome::fits},
        {"bottleneck", &Outcome::bottleneck},
    }};
    return fields;
}

Outcome evaluate(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles, bool scale_factor,
                 sim::Session* session) {
    const sim::Prediction p = sim::predict(
        scenario, profiles, {.scale_factor = scale_factor, .advice = false, .allocator = false, .session = session});
    Outcome outcome{.gpus = p.gpus,
                    .step_s = p.step_time_s,
                    .tokens_per_s = p.tokens_per_s,
                    .flops_per_gpu = p.model_flops_per_gpu,
                    .mfu = p.mfu,
                    .hfu = p.hfu,
                    .scale_factor = p.scale_factor,
                    .training_time_s = p.training_time_s,
                    .wall_clock_s = p.whole_run ? p.whole_run->seconds() : 0,
                    .fits = p.fits,
                    .bottleneck = sim::bottleneck(scenario, p.stages, p.step_time_s, p.planned_step_time_s)};
    outcome.trained_tokens_per_s =
        outcome.wall_clock_s > 0 ? scenario.outputs.token_budget / outcome.wall_clock_s : p.tokens_per_s;
    const std::size_t stage = p.fullest_stage();
    outcome.memory_needed = p.needed(stage);
    outcome.memory_capacity = p.capacity(stage);
    return outcome;
}

}  // namespace orrery::planning
