// Laws of combinations of strategies: their programs, and the times of those.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>

#include "base/error.hpp"
#include "sim/agreement.hpp"
#include "sim/oracle.hpp"
#include "sim/predict.hpp"
#include "sim/run_step.hpp"
#include "tests/property/laws.hpp"
#include "tests/property/program_laws.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::laws {

namespace {

/// Of a combination's seed; nothing where its GPUs have no fused attention and it needs one.
std::optional<scenarios::Scenario> combination_of(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    nlohmann::json document = scenarios::random_combination(random);
    const std::string preset = document["cluster"]["preset"];
    if (preset == "dgx-1v" || preset == "dgx-2") document["training"]["fused_attention"] = false;
    try {
        return sim::scenario_of(document);
    } catch (const Error&) {
        return std::nullopt;
    }
}

/// Where nothing contends, a step is the longest path through its programs.
void require_longest_path(const scenarios::Scenario& scenario) {
    constexpr std::size_t most_operations = 2000;  // the oracle sweeps over all of them again and again
    constexpr std::uint32_t most_gpus = 16;
    if (scenario.gpus > most_gpus) return;
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const sim::RanStep step(scenario.plan, cluster, profiles().find(scenario.profile), {.fold = false});
    if (step.program.programs.front().ops.size() > most_operations) return;
    const auto oracle = sim::longest_path(step.program, step.costs, step.network, scenario.plan.placement);
    const auto engine = sim::make_uncontended_engine(step.folding->capacities);
    const sim::Replayed alone = sim::replay(step.program, step.costs, step.network, *step.folding, *engine);
    for (std::uint32_t rank = 0; rank < oracle.size(); ++rank)
        for (std::size_t op = 0; op < oracle[rank].size(); ++op) {
            const double path = oracle[rank][op].end, end = alone.classes[rank].spans[op].end;
            require(std::abs(end - path) <= 1e-9 * std::max(path, 1e-3),
                    fmt::format("operation {} of rank {} ends at {} s, its path at {} s", op, rank, end, path));
        }
}

void require_times(const scenarios::Scenario& scenario) {
    require_sane(sim::quick(scenario));
    const sim::Agreement folded = sim::check_folding(scenario, profiles(), sim::EngineKind::fast);
    require(folded.agrees(), folded.text());
    require_longest_path(scenario);
}

}  // namespace

void programs_hold(const Case& of) { hold_all(BuiltCombination(of.seed)); }

void combinations_are_timed(const Case& of) {
    const auto scenario = combination_of(of.seed);
    if (!scenario) return;
    try {
        require_times(*scenario);
    } catch (const Error& error) {  // profiles have not measured all that plans may ask for, and say so
        require(!error.hint().empty(), error.what());
    } catch (const Violation& broken) {
        std::mt19937_64 random(of.seed);
        throw Violation(fmt::format("{}\n  {}", broken.what(), scenarios::random_combination(random).dump()));
    }
}

}  // namespace orrery::laws
