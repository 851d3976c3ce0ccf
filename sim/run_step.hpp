// One plan on one cluster: built, folded, replayed.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "scenarios/other_jobs.hpp"
#include "sim/foldings.hpp"
#include "sim/kind_costs.hpp"
#include "sim/period.hpp"
#include "sim/replay.hpp"
#include "strategies/plan.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

enum class EngineKind : std::uint8_t {
    fast,                 ///< our own model of links and delays: any number at a time
    fast_in_simgrid,      ///< the same inside SimGrid's kernel, to the bit; one at a time in a process
    simgrid,              ///< SimGrid's CM02 network, the reference
    fast_in_whole_bytes,  ///< ours, with flows rounded as that network must, for comparison with it
};

/// How to run a step.
struct Running {
    bool fold = true;  ///< simulate one rank of each class, which is exact
    EngineKind engine = EngineKind::fast;
    bool all_spans = false;  ///< record every class, whatever the memory it takes
    /// slowest_of_kinds() alone: replicas are then simulated as one until they meet, which is exact.
    bool few_spans = false;
    Foldings* foldings = nullptr;                      ///< of the cluster and its profiles. Not kept
    const Folding* like = nullptr;                     ///< of a step whose classes may do for this one. Not kept
    const Perturbed* perturbed = nullptr;              ///< null: all goes to plan. Not kept
    std::span<const scenarios::OtherJob> others = {};  ///< jobs on other GPUs of the cluster, at the same time
    ProgressCallback progress = {};                    ///< operations; from the beginning where it must run twice
};

/// A job that ran beside the step.
struct RanBeside {
    strategies::StepProgram program;
    std::shared_ptr<const Folding> folding;
    std::optional<KindCosts> costs;
    Replayed replayed;  ///< its first step, without spans
};

/// Everything a step's reports are made from. Not copyable: its parts refer to each other.
struct RanStep {
    RanStep(const strategies::Plan& plan, const topology::Cluster& cluster, const Profiles& profiles,
            const Running& how = {});
    /// The same for a plan whose program (strategies::build) is at hand.
    RanStep(strategies::StepProgram built, const strategies::Plan& plan, const topology::Cluster& cluster,
            const Profiles& profiles, const Running& how = {});
    RanStep(const RanStep&) = delete;
    RanStep& operator=(const RanStep&) = delete;

    /// Of one step: its share of the window that the program stands for.
    [[nodiscard]] double seconds() const { return replayed.end / program.steps; }
    /// The class of a role that ends last (the first of several); its spans are recorded.
    [[nodiscard]] const RankClass& slowest(std::uint32_t role) const;
    /// The same of a pipeline stage, of all its roles.
    [[nodiscard]] const RankClass& slowest_of_stage(std::uint32_t stage) const;
    /// Of each role on each kind of GPU the class that ends last; their spans are recorded. By role.
    [[nodiscard]] std::vector<std::uint32_t> slowest_of_kinds() const;

    Network network;
    strategies::StepProgram program;  ///< unrolled when tensor groups span nodes or kernels are perturbed
    std::vector<RanBeside> others;    ///< in the order of Running::others; folded over the same engine links
    std::shared_ptr<const Folding> folding;
    KindCosts costs;
    Replayed replayed;               ///< spans of all classes, or of slowest_of_kinds() where that would be too many
    std::vector<double> link_bytes;  ///< carried during the step, by engine link; of a step that is not run whole, less
    std::optional<Period> period;    ///< of a shortened step that repeats itself

    /// Whether this is the step: of a shortened one only where its period was found.
    [[nodiscard]] bool complete() const { return program.programs.front().rounds.left_out == 0 || period; }

private:
    void run(const Running& how, const Tapes& tapes, const std::vector<std::uint32_t>& record);
    void run_whole(const Running& how, const Tapes& tapes);
    void run_recording_few(const Running& how, const Tapes& tapes);
    void find_rounds(const Tapes& tapes, const std::vector<RankClass>& classes);
    /// What replicas did that were one until they met.
    struct Replicas {
        std::shared_ptr<const Folding> folding;
        Replayed replayed;
    };
    Replayed replay_alone(const Running& how, const Tapes& tapes, const Folding& by, const KnownStart* known,
                          RateWatch* watch);
    Replicas replay_replicas(const Running& how, const Tapes& tapes);
    bool run_as_one(const Running& how, const Tapes& tapes);
    void complete_spans(const KnownStart& known, const Tapes& tapes);
};

/// A program of the step with most rounds of its steady pipeline left out, where it has one (build_shortened()): stages
/// need the same memory as in the whole. Under a schedule without flushes strategies::build().
strategies::StepProgram short_program(const strategies::Plan& plan);

/// The step of a plan, with no more rounds of a steady pipeline simulated than it takes to see their period
/// (period.hpp); all of them where there is none, where something is perturbed or runs beside, and where all spans are
/// wanted.
std::unique_ptr<RanStep> run_plan(const strategies::Plan& plan, const topology::Cluster& cluster,
                                  const Profiles& profiles, const Running& how = {});

}  // namespace orrery::sim
