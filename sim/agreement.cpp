#include "sim/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "sim/predict.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {

namespace {

/// Both runs of a scenario, compared.
Agreement run_both(const scenarios::Scenario& scenario, calibrate::ProfileStore& store, const Running& one,
                   const Running& other) {
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const Profiles profiles = profiles_of(scenario, cluster, store);
    const Perturbed perturbed(scenario.perturbations, scenario.seed, cluster, scenario.plan);
    const auto run = [&](Running how) {
        if (!scenario.perturbations.none()) how.perturbed = &perturbed;
        how.others = scenario.other_jobs;
        return std::make_unique<const RanStep>(scenario.plan, cluster, profiles, how);
    };
    const auto one_run = run(one), other_run = run(other);
    const RanStep &first = *one_run, &second = *other_run;
    Agreement agreement = compare(first, second);
    agreement.names = fmt::format("{} and {} classes", first.folding->classes.size(), second.folding->classes.size());
    return agreement;
}

}  // namespace

std::string Agreement::text() const {
    return fmt::format("{} {}: largest difference {:.2g} of the step over {} ends{}", names,
                       agrees() ? "agree" : "DISAGREE", difference, compared,
                       agrees() ? "" : fmt::format(", at rank {}; at most {:g} is rounding", rank, tolerance));
}

Agreement compare(const RanStep& one, const RanStep& other) {
    const double end = std::max(one.replayed.end, other.replayed.end);
    Agreement agreement;
    const auto differ = [&](double a, double b, std::uint32_t rank) {
        const double difference = std::abs(a - b) / end;
        ++agreement.compared;
        if (difference <= agreement.difference) return;
        agreement.difference = difference;
        agreement.rank = rank;
    };
    const auto each_rank = [&](const Folding& here, const Replayed& a, const Folding& there, const Replayed& b) {
        for (std::uint32_t rank = 0; rank < here.class_of.size(); ++rank) {
            const RankClass &of_a = a.classes[here.class_of[rank]], &of_b = b.classes[there.class_of[rank]];
            differ(of_a.end, of_b.end, rank);
            for (std::size_t i = 0; i < std::min(of_a.spans.size(), of_b.spans.size()); ++i)
                differ(of_a.spans[i].end, of_b.spans[i].end, rank);
        }
    };
    each_rank(*one.folding, one.replayed, *other.folding, other.replayed);
    for (std::size_t job = 0; job < one.others.size(); ++job)
        each_rank(*one.others[job].folding, one.others[job].replayed, *other.others[job].folding,
                  other.others[job].replayed);
    return agreement;
}

Agreement check_folding(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles, EngineKind engine,
                        const ProgressCallback& progress) {
    Agreement agreement = run_both(scenario, profiles, {.fold = true, .engine = engine, .progress = progress},
                                   {.fold = false, .engine = engine, .progress = progress});
    agreement.names = "folded and unfolded, " + agreement.names + ",";
    return agreement;
}

Agreement check_engine(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles, bool fold,
                       const ProgressCallback& progress) {
    Agreement agreement =
        run_both(scenario, profiles, {.fold = fold, .engine = EngineKind::fast_in_whole_bytes, .progress = progress},
                 {.fold = fold, .engine = EngineKind::simgrid, .progress = progress});
    agreement.names = "fast engine and SimGrid's CM02, " + agreement.names + ",";
    return agreement;
}

}  // namespace orrery::sim
