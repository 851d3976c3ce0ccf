// One plan on one cluster: built, folded, replayed.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "scenarios/other_jobs.hpp"
#include "sim/folding.hpp"
#include "sim/kind_costs.hpp"
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
    bool all_spans = false;                             ///< record every class, whatever the memory it takes
    std::shared_ptr<const Folding> known_folding = {};  ///< of a similar plan on the same cluster; not if perturbed
    const Perturbed* perturbed = nullptr;               ///< null: all goes to plan. Not kept
    std::span<const scenarios::OtherJob> others = {};   ///< jobs on other GPUs of the cluster, at the same time
    ProgressCallback progress = {};                     ///< operations; from the beginning where it must run twice
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
    /// Of each role on each kind of GPU the class that ends last; their spans are recorded. By role.
    [[nodiscard]] std::vector<std::uint32_t> slowest_of_kinds() const;

    Network network;
    strategies::StepProgram program;  ///< unrolled when tensor groups span nodes or kernels are perturbed
    std::vector<RanBeside> others;    ///< in the order of Running::others; folded over the same engine links
    std::shared_ptr<const Folding> folding;
    KindCosts costs;
    Replayed replayed;               ///< spans of all classes, or of slowest_of_kinds() where that would be too many
    std::vector<double> link_bytes;  ///< carried during the step, by engine link

private:
    void run(const Running& how, const std::vector<std::uint32_t>& record);
    void run_recording_few(const Running& how);
};

}  // namespace orrery::sim
