#include "tests/property/laws.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "sim/agreement.hpp"
#include "sim/predict.hpp"
#include "tests/property/more.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::laws {

namespace {

using sim::Breakdown;
using sim::Prediction;

constexpr double tolerance = 1e-9;

constexpr std::array table{
    Law{"sane", "the breakdown adds up, the peak holds what stays, MFU is at most 1", sane},
    Law{"folded", "one rank of each class stands for all of them", folded_as_unfolded},
    Law{"engines", "our engine and SimGrid's come to the same times", engines_agree},
    Law{"operations", "calls of blocks are timed as their operations", calls_as_operations},
    Law{"more", "more work takes no less", more_takes_no_less},
    Law{"straggler", "a slower rank delays a step that shares no links", a_straggler_delays},
    Law{"set", "--set is an edited file", set_as_edited},
    Law{"anywhere", "the same bytes in any folder and locale", same_bytes_anywhere, true},
    Law{"beside", "the same bytes beside other predictions", same_bytes_beside_others},
    Law{"programs", "whichever strategies meet: FLOPs, gradients, updates, memory, an end", programs_hold},
    Law{"combined", "their times add up, folded or not, and are the longest path", combinations_are_timed},
};

constexpr std::array parts{&Breakdown::gemm,        &Breakdown::attention,   &Breakdown::memory_bound,
                           &Breakdown::tensor_comm, &Breakdown::expert_comm, &Breakdown::pipeline_comm,
                           &Breakdown::data_comm,   &Breakdown::offload,     &Breakdown::optimizer,
                           &Breakdown::launch,      &Breakdown::bubble};

void require_share(double share, const char* what) {
    require(std::isfinite(share) && share > 0 && share <= 1, fmt::format("{} is {}", what, share));
}

void require_adds_up(const Breakdown& stage, double step) {
    for (const auto part : parts) require(stage.*part >= 0, fmt::format("a part of the step takes {} s", stage.*part));
    require(std::abs(stage.total() - step) <= tolerance * step,
            fmt::format("the parts add up to {} s, the step takes {} s", stage.total(), step));
}

/// Weights, gradients and optimizer state stay all the step.
void require_holds_static(const sim::StageMemory& memory) {
    std::uint64_t at_peak = 0;
    for (const std::uint64_t bytes : memory.at_peak) at_peak += bytes;
    require(at_peak == memory.peak, fmt::format("a peak of {} B is made of {} B", memory.peak, at_peak));
    for (const std::uint64_t moment : {memory.before_backward, memory.after_backward, memory.after_optimizer})
        require(moment <= memory.peak, fmt::format("{} B are more than the peak of {} B", moment, memory.peak));
}

void require_same(const Prediction& one, const Prediction& other, const char* what) {
    const double seconds = tolerance * one.step_time_s;
    require(std::abs(one.step_time_s - other.step_time_s) <= seconds,
            fmt::format("{} s and {} s {}", one.step_time_s, other.step_time_s, what));
    for (std::size_t stage = 0; stage < one.stages.size(); ++stage)
        for (const auto part : parts)
            require(std::abs(one.stages[stage].*part - other.stages[stage].*part) <= seconds,
                    fmt::format("{} s and {} s of a part of stage {} {}", one.stages[stage].*part,
                                other.stages[stage].*part, stage, what));
}

bool in_step(const Prediction& one, const Prediction& other) {
    return std::abs(one.step_time_s - other.step_time_s) <= tolerance * one.step_time_s;
}

/// Ranks that send in step over a shared link stay so only as long as nothing disturbs them: each message makes a lag
/// between them larger (sim/README.md, "More that takes less"; seed 3243 makes 1e-13 of it 7e-7). Without sharing, a
/// straggler of next to nothing changes next to nothing.
void require_out_of_step(const Prediction& planned, const Prediction& perturbed, const scenarios::Scenario& scenario,
                         const scenarios::Scenario& slower) {
    constexpr double least_sharing = 1e-3, grown = 1e-5;
    const double alone = uncontended_seconds(scenario), seconds = tolerance * alone;
    require(
        alone < planned.step_time_s * (1 - least_sharing),
        fmt::format("{} s and {} s with a straggler of next to nothing, though hardly a link is shared ({} s alone)",
                    planned.step_time_s, perturbed.step_time_s, alone));
    require(std::abs(uncontended_seconds(slower) - alone) <= seconds,
            "a straggler of next to nothing changes a step that shares no links");
    require(
        std::abs(planned.step_time_s - perturbed.step_time_s) <= grown * planned.step_time_s,
        fmt::format("{} s and {} s with a straggler of next to nothing", planned.step_time_s, perturbed.step_time_s));
}

void require_agrees(const sim::Agreement& agreement) { require(agreement.agrees(), agreement.text()); }

}  // namespace

std::span<const Law> all() { return table; }

Case::Case(std::uint64_t from_seed)
    : seed(from_seed),
      document(sim::random_document(seed).dump()),
      scenario(sim::scenario_of(nlohmann::json::parse(document))) {}

calibrate::ProfileStore& profiles() { return sim::profiles(); }

void require(bool holds, const std::string& otherwise) {
    if (!holds) throw Violation(otherwise);
}

void require_sane(const Prediction& prediction) {
    const double step = prediction.step_time_s;
    require(std::isfinite(step) && step > 0, fmt::format("the step takes {} s", step));
    for (const Breakdown& stage : prediction.stages) require_adds_up(stage, step);
    for (const sim::StageMemory& memory : prediction.memory) require_holds_static(memory);
    require_share(prediction.mfu, "MFU");
    require_share(prediction.hfu, "HFU");
}

void sane(const Case& of) { require_sane(sim::quick(of.scenario)); }

void folded_as_unfolded(const Case& of) {
    require_agrees(sim::check_folding(of.scenario, profiles(), sim::EngineKind::fast));
}

void engines_agree(const Case& of) {
    try {
        require_agrees(sim::check_engine(of.scenario, profiles(), of.seed % 2 == 0));
    } catch (const Error& error) {
        // The reference has one weight a flow, and says so: a ring that enters nodes by other numbers of NICs has more.
        require(error.hint().ends_with("--engine fast"), error.what());
    }
}

void calls_as_operations(const Case& of) {
    sim::Options options{.scale_factor = false, .advice = false};
    const Prediction planned = sim::predict(of.scenario, profiles(), options);
    options.unroll = true;
    require_same(planned, sim::predict(of.scenario, profiles(), options), "operation by operation");
    options.unroll = false;
    scenarios::Scenario slower = of.scenario;
    const auto rank = static_cast<std::uint32_t>(of.seed % of.scenario.gpus);
    slower.perturbations.stragglers = {{rank, rank, 1 + 1e-13, {}}};
    const Prediction perturbed = sim::predict(slower, profiles(), options);
    if (in_step(planned, perturbed))
        require_same(planned, perturbed, "with a straggler of next to nothing");
    else
        require_out_of_step(planned, perturbed, of.scenario, slower);
}

}  // namespace orrery::laws
