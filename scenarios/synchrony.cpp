#include "scenarios/synchrony.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "strategies/refusal.hpp"
#include "strategies/replica_batches.hpp"

namespace orrery::scenarios {

namespace {

void require(bool holds, const char* pointer, std::string message, const char* hint) {
    if (!holds) throw Error("", pointer, std::move(message), hint);
}

/// A replica must be able to make a step, and an update, without the others.
void check_plan(const strategies::Plan& plan, const synchrony::Options& options) {
    const strategies::Strategy& strategy = plan.strategy;
    const auto only = [](bool holds, const char* pointer, const std::string& message, const char* hint) {
        if (!holds) strategies::refuse(pointer, message, hint, strategies::Source::not_modelled);
    };
    only(strategy.sharding == strategies::Sharding::none, "/strategy/sharding",
         fmt::format("{}: replicas that keep parts of each other's states meet in every step",
                     row_of(strategy.sharding).name),
         "set it to \"none\", or leave synchrony out");
    only(strategy.expert == 1, "/strategy/expert", "replicas that share experts meet in every layer",
         "set it to 1, or leave synchrony out");
    only(strategy.compression == strategies::Compression::none, "/strategy/compression",
         "replicas that exchange what is compressed meet in every step", "set it to \"none\", or leave synchrony out");
    only(!schedule_of(strategy.schedule).asynchronous, "/strategy/schedule",
         fmt::format("stages of {} come to their updates at different times", schedule_of(strategy.schedule).name),
         "set it to \"1f1b\", or leave synchrony out");
    only(!strategies::unequal_replicas(plan), "/strategy/replica_micro_batches",
         "replicas of a window all make the same step", "leave it out, or leave synchrony out");
    only(!options.serves() || !strategy.optimizer_cpu_offload, "/strategy/optimizer_cpu_offload",
         "true, but parameter servers have the optimizer", "set it to false");
    only(plan.training.lora_rank == 0, "/training/lora_rank", "adapters on parameter servers",
         "leave it out, or leave synchrony out");
    only(plan.training.frozen_layers == 0, "/training/frozen_layers", "replicas exchange all parameters",
         "leave it out, or leave synchrony out");
    const strategies::Precision& precision = plan.training.precision;
    only(precision.on_the_wire() == precision.grad_reduce, "/training/communication_data_type",
         "replicas exchange gradients as they are summed", "leave it out, or leave synchrony out");
    only(plan.training.apply_groups == 1, "/training/num_apply_group", "replicas update all parameters at once",
         "set it to 1, or leave synchrony out");
}

/// What a step meets is played inside one step, and a window has many.
void check_surroundings(const Scenario& scenario, const topology::Cluster& cluster) {
    const Perturbations& table = scenario.perturbations;
    require(table.links.empty() && table.background.empty(),
            table.links.empty() ? "/perturbations/background" : "/perturbations/slow_links",
            "a window of steps has links as planned", "leave it out, or leave synchrony out");
    require(table.jitter == 0, "/perturbations/jitter", "jitter of kernels evens out within a step",
            "leave it out and give synchrony.step_jitter");
    require(scenario.other_jobs.empty(), "/other_jobs", "a window of steps has the cluster to itself",
            "leave them out, or leave synchrony out");
    for (const topology::NodeGroup& group : cluster.groups())
        require(group.gpu.name == cluster.gpu().name, "/cluster/more_nodes",
                fmt::format("replicas on {} and {}: those of a window are on one kind of GPU", cluster.gpu().name,
                            group.gpu.name),
                "leave it out, and name the slower ranks in perturbations.stragglers");
}

void check_servers(const Scenario& scenario, const topology::Cluster& cluster) {
    const synchrony::Options& options = *scenario.synchrony;
    if (!options.serves()) return;
    const auto used = static_cast<std::uint32_t>(nodes_of(scenario.plan, cluster).size());
    const bool own = options.server_nodes == synchrony::ServerNodes::own;
    const std::uint32_t servers = options.servers > 0 ? options.servers : used;
    const std::uint32_t room = own ? cluster.nodes() - used : used;
    if (servers > room)
        throw Error(
            "", own ? "/synchrony/server_nodes" : "/synchrony/servers",
            fmt::format("{} servers, one a node, and {} nodes {}", servers, room,
                        own ? "are left by the replicas" : "have replicas"),
            own ? fmt::format("name {} nodes in cluster.nodes, or lower strategy.data or servers", used + servers)
                : fmt::format("at most {}", room));
}

/// Steps of all workers; where servers serve them three events each, which look at all workers and at the links of all
/// ways.
void check_extent(const Scenario& scenario, const topology::Cluster& cluster) {
    const synchrony::Options& options = *scenario.synchrony;
    const double workers = scenario.plan.strategy.data;
    const auto nodes = static_cast<double>(nodes_of(scenario.plan, cluster).size());
    constexpr double most = 5e10, draw = 50;  // some seconds; a random factor against looking at a number
    const double a_step = workers * (draw + (options.serves() ? 3 * (4 * workers + 8 * nodes * nodes) : 0));
    if (a_step * options.steps <= most) return;
    if (a_step > most)
        throw Error("", "/synchrony", fmt::format("{} replicas: too many to play", scenario.plan.strategy.data),
                    "lower strategy.data, or leave it out");
    throw Error("", "/synchrony/steps",
                fmt::format("{} steps of {} replicas on {} nodes: too many to play", options.steps,
                            scenario.plan.strategy.data, nodes),
                fmt::format("at most {:.0f}", std::floor(most / a_step)));
}

}  // namespace

std::vector<std::uint32_t> nodes_of(const strategies::Plan& plan, const topology::Cluster& cluster) {
    std::vector<std::uint32_t> nodes;
    for (std::uint32_t rank = 0; rank < plan.ranks(); ++rank)
        nodes.push_back(cluster.node_of(plan.placement.gpu(rank)));
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
}

void check_synchrony(const Scenario& scenario, const topology::Cluster& cluster) {
    if (!scenario.synchrony) return;
    synchrony::check(*scenario.synchrony);
    check_plan(scenario.plan, *scenario.synchrony);
    check_surroundings(scenario, cluster);
    check_servers(scenario, cluster);
    check_extent(scenario, cluster);
}

}  // namespace orrery::scenarios
