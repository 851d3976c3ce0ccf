#include "planning/partition/partition.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "planning/partition/balanced_stages.hpp"
#include "planning/partition/replica_shares.hpp"
#include "strategies/replica_batches.hpp"
#include "strategies/stage_split.hpp"

namespace orrery::planning {

namespace {

using strategies::Plan;
using strategies::Strategy;

Strategy with_layers(Strategy strategy, const std::vector<std::uint32_t>& layers) {
    strategy.first_stage_layers = strategy.last_stage_layers = 0;
    strategy.embedding_as_layer = strategy.loss_as_layer = false;
    strategy.pipeline_layers = pipeline_layers({layers, {}, {}});
    return strategy;
}

std::vector<std::uint32_t> own_layers(const Plan& plan, const LayerTable& table) {
    std::vector<std::uint32_t> layers;
    for (std::uint32_t at = 0; at < plan.strategy.pipeline * plan.strategy.virtual_pipeline; ++at)
        layers.push_back(strategies::layers_of(plan, table.body_end() - table.body_begin(), at).count);
    return layers;
}

Division division(const Site& site, const Strategy& strategy, std::vector<std::uint32_t> layers,
                  const StageTables& tables, calibrate::ProfileStore& profiles) {
    const scenarios::Scenario scenario = site.under(strategy, site.scenario.plan.training.micro_batch);
    return {std::move(layers), stage_seconds(scenario.plan, tables), evaluate(scenario, profiles)};
}

/// Nodes that are filled, or a part of one.
std::vector<WorkerLevel> levels_of(const Plan& plan, const topology::Cluster& cluster, std::uint32_t gpus_of_worker) {
    const std::uint32_t ranks = plan.ranks(), node = cluster.gpus_per_node();
    const std::uint32_t inside = std::min(ranks, node);
    if (ranks % inside != 0 || inside % gpus_of_worker != 0)
        throw Error("", "/strategy",
                    fmt::format("{} ranks, {} of which are one worker, do not fill nodes of {} GPUs", ranks,
                                gpus_of_worker, node),
                    "give ranks that fill their nodes, and tensor and context ranks that fit into one");
    const double network = cluster.nic_bytes_per_second() * cluster.nics_per_node() / gpus_of_worker;
    return {{inside / gpus_of_worker, cluster.intra_node_bytes_per_second()}, {ranks / inside, network}};
}

/// All workers behind the slowest link: a ring of neighbours crosses each node's once. So a stage may end inside a
/// node.
WorkerLevel one_level(const std::vector<WorkerLevel>& levels) {
    WorkerLevel all{1, levels.front().bytes_per_second};
    for (const WorkerLevel& level : levels) {
        all.units *= level.units;
        all.bytes_per_second = std::min(all.bytes_per_second, level.bytes_per_second);
    }
    return all;
}

/// PipeDream's formulas know one time of a layer on a worker.
void require_one_kind(const StageTables& tables) {
    if (tables.kinds() > 1)
        throw Error("", "/cluster/more_nodes", "PipeDream's workers are alike, and these GPUs are of several kinds",
                    "take nodes of one kind");
}

Replication replication(const Site& site, const Chain& chain) {
    const Plan& plan = site.scenario.plan;
    if (plan.model.experts > 0)
        throw Error("", "/model/num_experts", "experts lie on data ranks, of which each stage would have others",
                    "take a model without experts");
    const std::vector<WorkerLevel> levels = levels_of(plan, site.cluster, plan.strategy.tensor * plan.strategy.context);
    Replication result{replicated_stages(chain, levels), data_parallel_seconds(chain, levels)};
    const WorkerLevel flat = one_level(levels);
    if (flat.units > most_units || levels.back().units == 1) return result;
    result.data_parallel = std::min(result.data_parallel, data_parallel_seconds(chain, {&flat, 1}));
    ReplicatedStages other = replicated_stages(chain, {&flat, 1});
    if (other.seconds < result.best.seconds) result.best = std::move(other);
    return result;
}

Shares shares(const Site& site, const std::vector<ReplicaPace>& paces, const std::string& list,
              calibrate::ProfileStore& profiles) {
    Strategy strategy = site.scenario.plan.strategy;
    strategy.replica_micro_batches = list;
    const scenarios::Scenario scenario = site.under(strategy, site.scenario.plan.training.micro_batch);
    strategies::validate(scenario.plan);
    Shares result{{}, {}, evaluate(scenario, profiles)};
    const strategies::ReplicaCounts counts = strategies::replica_counts(scenario.plan);
    for (std::uint32_t data = 0; data < paces.size(); ++data) {
        result.micro_batches.push_back(counts.of(data));
        result.seconds.push_back(paces[data].seconds(counts.of(data)));
    }
    return result;
}

/// Names of the kinds of GPU that a data rank has.
std::string gpus_of(const ReplicaPace& pace, const sim::Kinds& kinds) {
    std::vector<std::string> names;
    for (const std::uint32_t kind : pace.kinds) names.push_back(kinds[kind].gpu.name);
    return fmt::format("{}", fmt::join(names, " + "));
}

/// Writes what the batch's division comes to.
void share(Partition& result, const Site& site, const StageTables& tables, const Prices& prices,
           calibrate::ProfileStore& profiles) {
    const Plan& plan = site.scenario.plan;
    if (plan.strategy.data == 1) throw Error("", "/strategy/data", "there is one data rank", "");
    const std::vector<ReplicaPace> paces = replica_paces(plan, tables, prices);
    for (const ReplicaPace& pace : paces) result.gpus.push_back(gpus_of(pace, prices.kinds()));
    result.planned_shares = shares(site, paces, plan.strategy.replica_micro_batches, profiles);
    const std::vector<std::uint32_t> balanced = balanced_shares(plan, paces);
    double slowest = 0;
    for (std::uint32_t data = 0; data < paces.size(); ++data)
        slowest = std::max(slowest, paces[data].seconds(balanced[data]));
    constexpr double rounding = 1 - 1e-9;  // of several that are as good, the plan's own
    result.balanced_shares = slowest < rounding * std::ranges::max(result.planned_shares->seconds)
                                 ? shares(site, paces, strategies::replica_text(balanced), profiles)
                                 : result.planned_shares;
}

/// Runs a part of the answer; what makes it impossible is its text.
template <class Part>
std::string attempt(const Part& part) {
    try {
        part();
        return "";
    } catch (const Error& error) {
        return error.message();
    }
}

}  // namespace

double Division::slowest() const { return std::ranges::max(seconds); }

std::string replica_micro_batches(const Shares& shares) { return strategies::replica_text(shares.micro_batches); }

std::string pipeline_layers(const Division& division) { return fmt::format("{}", fmt::join(division.layers, ",")); }

Partition partition(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles) {
    const Site site(scenario, 0, profiles);
    const Plan& plan = site.scenario.plan;
    Prices prices(site);
    prices.place(plan);
    const StageTables tables(plan, prices);
    const LayerTable& table = tables.layers();
    Partition result;
    result.not_divided = attempt([&] {
        const std::vector<std::uint32_t> layers = balanced_layers(plan, tables);
        result.planned = division(site, plan.strategy, own_layers(plan, table), tables, profiles);
        result.balanced = division(site, with_layers(plan.strategy, layers), layers, tables, profiles);
        constexpr double rounding = 1 - 1e-9;  // of several that are as good, the plan's own
        if (result.balanced->slowest() >= rounding * result.planned->slowest()) result.balanced = result.planned;
    });
    result.not_replicated = attempt([&] {
        require_one_kind(tables);
        const Chain chain(plan, table);
        for (std::uint32_t layer = 0; layer < chain.size(); ++layer) result.names.push_back(chain[layer].name);
        result.replicated = replication(site, chain);
    });
    if (tables.kinds() > 1) {
        result.not_shared = attempt([&] { share(result, site, tables, prices, profiles); });
        if (!result.not_shared.empty()) result.planned_shares.reset();
    }
    if (!result.balanced && !result.replicated && !result.balanced_shares)
        throw Error("", "/strategy/pipeline",
                    fmt::format("nothing can be divided: {}; {}", result.not_divided, result.not_replicated),
                    "set another schedule or number of stages; `orrery search` tries them");
    return result;
}

}  // namespace orrery::planning
