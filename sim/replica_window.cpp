#include "sim/replica_window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/error.hpp"
#include "base/units.hpp"
#include "models/operators.hpp"
#include "scenarios/synchrony.hpp"
#include "sim/breakdown.hpp"
#include "sim/run_step.hpp"
#include "strategies/optimizers.hpp"
#include "strategies/replica_batches.hpp"
#include "strategies/state_bytes.hpp"

namespace orrery::sim {

namespace {

/// Averages go in fp32, behind everything else: of parameters (Stich 2019), or of what they changed (DiLoCo).
strategies::Plan that_averages(strategies::Plan plan) {
    plan.strategy.overlap_grad_reduce = false;
    plan.training.precision.grad_reduce = kernels::Dtype::fp32;
    return plan;
}

double optimizer_seconds(const RanStep& ran) {
    const RankClass* last = &ran.slowest(0);
    for (std::uint32_t role = 1; role < ran.program.programs.size(); ++role)
        if (ran.slowest(role).end > last->end) last = &ran.slowest(role);
    return breakdown(ran.program, ran.costs.of_rank(last->representative), *last, ran.replayed.end).optimizer;
}

/// That a rank keeps, of the stage that has most.
double most_parameters(const strategies::StepProgram& step) {
    double most = 0;
    for (const strategies::Program& program : step.programs) {
        double parameters = 0;
        for (const strategies::BucketState& bucket : program.state.buckets)
            parameters += static_cast<double>(bucket.weights);
        most = std::max(most, parameters);
    }
    return most;
}

/// PyTorch's SGD with Nesterov's momentum over what the average changed: difference, momentum, step, and the parameters
/// as products read them.
double outer_seconds(const calibrate::Predictor& predictor, double parameters) {
    using kernels::Pointwise;
    using kernels::PointwiseKind;
    constexpr std::array kinds{PointwiseKind::add, PointwiseKind::scale, PointwiseKind::add,
                               PointwiseKind::add, PointwiseKind::add,   PointwiseKind::cast};
    double seconds = 0;
    for (const PointwiseKind kind : kinds)
        seconds +=
            predictor
                .kernel(Pointwise{kind, kind == PointwiseKind::cast ? kernels::Dtype::bf16 : kernels::Dtype::fp32, 1,
                                  static_cast<std::uint64_t>(parameters)})
                .seconds;
    return seconds;
}

/// Links of nodes with replicas: each node's NICs out and in, and what a GPU that serves sends and takes inside its
/// node. Servers on nodes of their own are one, because all transfers use them alike.
class NodeLinks {
public:
    NodeLinks(const scenarios::Scenario& scenario, const Site& site)
        : nodes_(scenarios::nodes_of(scenario.plan, site.cluster)),
          own_(scenario.synchrony->server_nodes == synchrony::ServerNodes::own),
          servers_(scenario.synchrony->servers > 0 ? scenario.synchrony->servers
                                                   : static_cast<std::uint32_t>(nodes_.size())) {
        const topology::Cluster& cluster = site.cluster;
        const double share = Kinds(cluster, site.profiles).payload_share();
        nics_ = cluster.nic_bytes_per_second() * cluster.nics_per_node() * share;
        inside_ = cluster.intra_node_bytes_per_second();
        for (std::size_t node = 0; node < nodes_.size(); ++node)
            rates_.insert(rates_.end(), {nics_, nics_, inside_, inside_});
        rates_.insert(rates_.end(), {servers_ * nics_, servers_ * nics_});
    }

    [[nodiscard]] const std::vector<double>& rates() const { return rates_; }
    [[nodiscard]] std::uint32_t servers() const { return servers_; }

    /// Of a replica that has such parts of its parameters on each node (by the node's number).
    [[nodiscard]] synchrony::Ways ways(const std::map<std::uint32_t, double>& parts) const {
        std::vector<double> out(rates_.size());
        for (const auto& [node, part] : parts) {
            const auto at = static_cast<std::uint32_t>(std::ranges::lower_bound(nodes_, node) - nodes_.begin());
            if (own_) {
                out[link(at, leaves)] += part;
                out[rates_.size() - 1] += part;
                continue;
            }
            for (std::uint32_t server = 0; server < servers_; ++server) {
                const double moved = part / servers_;
                if (server == at) {
                    out[link(at, enters_inside)] += moved;
                } else {
                    out[link(at, leaves)] += moved;
                    out[link(server, enters)] += moved;
                }
            }
        }
        synchrony::Ways ways;
        for (std::uint32_t each = 0; each < out.size(); ++each) {
            if (out[each] == 0 || rates_[each] == 0) continue;
            ways.push.push_back({each, out[each]});
            ways.pull.push_back({each ^ 1U, out[each]});  // the same the other way
        }
        return ways;
    }

private:
    enum Direction : std::uint32_t { leaves, enters, leaves_inside, enters_inside };
    static std::uint32_t link(std::uint32_t node, Direction direction) { return 4 * node + direction; }

    std::vector<std::uint32_t> nodes_;
    bool own_;
    std::uint32_t servers_;
    double nics_ = 0, inside_ = 0;
    std::vector<double> rates_;
};

/// Workers, where they stand, and what slows them.
void add_workers(const scenarios::Scenario& scenario, const Site& site, const NodeLinks& links, double compute_s,
                 synchrony::Job& job) {
    const strategies::Plan& plan = scenario.plan;
    const strategies::Mesh mesh = plan.mesh();
    const double part = static_cast<double>(plan.strategy.data) / plan.ranks();
    std::vector<std::map<std::uint32_t, double>> parts(plan.strategy.data);
    job.workers.assign(plan.strategy.data, {.compute_s = compute_s});
    for (std::uint32_t rank = 0; rank < plan.ranks(); ++rank) {
        const std::uint32_t worker = mesh.data_rank(rank);
        parts[worker][site.cluster.node_of(plan.placement.gpu(rank))] += part;
        std::vector<synchrony::Slow> slow;
        for (const scenarios::Straggler& straggler : scenario.perturbations.stragglers)
            if (straggler.first_rank <= rank && rank <= straggler.last_rank)
                slow.push_back({straggler.when.from, straggler.when.to, straggler.factor});
        if (!slow.empty()) job.workers[worker].parts.push_back(std::move(slow));
    }
    for (std::uint32_t worker = 0; worker < plan.strategy.data && job.options.serves(); ++worker) {
        const synchrony::Ways ways = links.ways(parts[worker]);
        const auto known = std::ranges::find(job.ways, ways);
        job.workers[worker].ways = static_cast<std::uint32_t>(known - job.ways.begin());
        if (known == job.ways.end()) job.ways.push_back(ways);
    }
}

}  // namespace

synchrony::Job replica_job(const scenarios::Scenario& scenario, Site& site) {
    const strategies::Plan& plan = scenario.plan;
    synchrony::Job job{.options = *scenario.synchrony};
    const synchrony::Options& options = job.options;
    const auto run = [&](const strategies::Plan& of) {
        return run_plan(of, site.cluster, site.profiles, {.foldings = &site.foldings});
    };
    const auto base = run(strategies::first_replicas(plan, 1));
    const double parameters = static_cast<double>(models::parameters(models::build(plan.model)));
    const strategies::StateBytes state = strategies::state_bytes(plan.training);
    job.tokens = plan.examples() / plan.strategy.data;
    double compute_s = base->seconds();
    const NodeLinks links(scenario, site);
    if (options.serves()) {
        compute_s -= optimizer_seconds(*base);
        job.links = links.rates();
        job.push_bytes = parameters * state.gradient;
        job.pull_bytes = parameters * state.weight;
        const double kept = strategies::checkpoint_bytes(plan.training);
        job.server_bytes = (parameters * kept + job.push_bytes + job.pull_bytes) / links.servers();
    } else if (options.averages()) {
        const auto apart = run(that_averages(strategies::first_replicas(plan, 1))), averaged = run(that_averages(plan));
        job.reduce_s = std::max(0.0, averaged->seconds() - apart->seconds());
    } else {
        job.reduce_s = std::max(0.0, run(plan)->seconds() - base->seconds());
    }
    if (options.mode == synchrony::Mode::diloco) {
        const double of_gpu = most_parameters(base->program);
        constexpr double anchor_and_momentum = 8;
        job.extra_bytes = anchor_and_momentum * of_gpu;
        job.reduce_s += outer_seconds(site.profiles.of(site.cluster.gpu()), of_gpu);
    }
    add_workers(scenario, site, links, compute_s, job);
    return job;
}

std::vector<std::string> window_doubts(const synchrony::Outcome* window, const MemoryUse& memory) {
    if (window == nullptr || window->job.extra_bytes == 0) return {};
    const double spare = memory.spare(memory.fullest_stage());
    if (window->job.extra_bytes <= spare) return {};
    return {
        fmt::format("the anchor and the outer momentum, {} a GPU, do not fit beside the step, which leaves {}: they "
                    "are taken to lie on the device",
                    format_bytes(window->job.extra_bytes), format_bytes(std::max(0.0, spare)))};
}

std::shared_ptr<const synchrony::Outcome> replica_window(const scenarios::Scenario& scenario, Site& site) {
    if (!scenario.synchrony) return nullptr;
    if (scenario.plan.strategy.data == 1)
        throw Error("", "/synchrony", "one replica has no other to keep step with",
                    "set strategy.data to 2 or more, or leave it out");
    return std::make_shared<const synchrony::Outcome>(synchrony::simulate(replica_job(scenario, site), scenario.seed));
}

}  // namespace orrery::sim
