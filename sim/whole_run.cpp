#include "sim/whole_run.hpp"

#include <algorithm>
#include <vector>

#include "sim/host_copies.hpp"
#include "strategies/optimizers.hpp"
#include "strategies/state_bytes.hpp"
#include "strategies/trained_parameters.hpp"

namespace orrery::sim {

namespace {

using reliability::Job;
using strategies::Axis;

/// Entries of one node, each counted once.
class ByNode {
public:
    void add(std::uint32_t node, std::uint32_t entry) { entries_.push_back(std::uint64_t{node} << 32U | entry); }
    void finish() {
        std::ranges::sort(entries_);
        entries_.erase(std::unique(entries_.begin(), entries_.end()), entries_.end());
    }
    [[nodiscard]] std::uint32_t entries() const { return static_cast<std::uint32_t>(entries_.size()); }
    [[nodiscard]] std::uint32_t nodes() const { return count().first; }
    /// Of the node that has the most.
    [[nodiscard]] std::uint32_t most() const { return count().second; }

private:
    [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> count() const {
        std::uint32_t nodes = 0, most = 0, here = 0;
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            const bool first = i == 0 || entries_[i] >> 32U != entries_[i - 1] >> 32U;
            nodes += first ? 1 : 0;
            here = first ? 1 : here + 1;
            most = std::max(most, here);
        }
        return {nodes, most};
    }
    std::vector<std::uint64_t> entries_;
};

/// Who shares which node; chips share their host.
void add_nodes(const strategies::Plan& plan, const topology::Cluster& cluster, bool pays_idle, Job& job) {
    const strategies::Mesh mesh = plan.mesh();
    const std::uint32_t chips_per_host = cluster.fabric().parts().chips_per_host;
    ByNode ranks, of_first_replica, replicas, readers;
    for (std::uint32_t rank = 0; rank < plan.ranks(); ++rank) {
        const std::uint32_t node = cluster.node_of(plan.placement.gpu(rank)) / chips_per_host;
        const std::uint32_t replica = mesh.data_rank(rank);
        ranks.add(node, rank);
        replicas.add(node, replica);
        if (replica == 0) of_first_replica.add(node, rank);
        if (mesh.coordinate(rank, Axis::pipeline) == 0) readers.add(node, replica);
    }
    for (ByNode* const each : {&ranks, &of_first_replica, &replicas, &readers}) each->finish();
    const auto one = static_cast<std::size_t>(reliability::Savers::one_replica);
    const auto all = static_cast<std::size_t>(reliability::Savers::all_ranks);
    job.nodes = ranks.nodes();
    job.gpus = ranks.entries();
    job.idle_gpus = pays_idle ? cluster.gpus() - job.gpus : 0;
    job.replicas = plan.strategy.data;
    job.micro_batches = plan.micro_batches();
    job.per_node = replicas.most();
    job.savers[one] = of_first_replica.entries();
    job.savers[all] = ranks.entries();
    job.on_one_node[one] = of_first_replica.most();
    job.on_one_node[all] = ranks.most();
    const double of_replica = plan.examples() * plan.micro_batches() / plan.all_micro_batches();  // that takes most
    job.node_tokens = of_replica * readers.most();
}

/// What the optimizer updates, with its moments, and beside fp32 masters the 16-bit weights. What is gathered, cast or
/// copied from these is not saved.
void add_bytes(const strategies::Plan& plan, const strategies::StepProgram& step, Job& job) {
    const double masters = strategies::checkpoint_bytes(plan.training);
    constexpr double narrow = 2;
    const bool narrow_weights = plan.training.master_weights && strategies::state_bytes(plan.training).weight < 4;
    const strategies::TrainedParameters of = strategies::trained_parameters(plan);
    const auto trained = static_cast<double>(of.trained);
    const double as_they_are = static_cast<double>(of.frozen) * strategies::state_bytes(plan.training).weight;
    const bool adapters = plan.training.lora_rank > 0;
    job.parameters = static_cast<double>(adapters ? of.frozen : of.trained + of.frozen);
    job.base_bytes = adapters ? as_they_are : 0;
    const double saved = adapters ? 0 : as_they_are;
    job.saved_bytes[static_cast<std::size_t>(reliability::Saved::masters)] = masters * trained + saved;
    job.saved_bytes[static_cast<std::size_t>(reliability::Saved::states)] =
        (masters + (narrow_weights ? narrow : 0)) * trained + saved;
    for (const strategies::Program& program : step.programs) {
        double resident = 0;
        for (const strategies::Buffer& buffer : program.buffers) {
            const bool state = buffer.keep == strategies::Keep::weight || buffer.keep == strategies::Keep::optimizer;
            if (state && buffer.lifetime.span == strategies::Lifetime::Span::step)
                resident += static_cast<double>(buffer.bytes);
        }
        job.resident_bytes = std::max(job.resident_bytes, resident);
    }
}

}  // namespace

Job job_of(const scenarios::Scenario& scenario, const topology::Cluster& cluster, const Profiles& profiles,
           const strategies::StepProgram& step, double step_seconds) {
    const strategies::Plan& plan = scenario.plan;
    Job job;
    job.step_s = step_seconds;
    job.steps = scenario.outputs.token_budget / plan.examples();
    // Beside other jobs nobody says whose the idle ones are.
    add_nodes(plan, cluster, scenario.cluster.nodes > 0 && scenario.other_jobs.empty(), job);
    add_bytes(plan, step, job);
    job.nics_bytes_per_second = cluster.nodes() > 1 ? cluster.nic_bytes_per_second() * cluster.nics_per_node() : 0;
    const topology::GpuId first = plan.placement.gpu(0);
    const calibrate::Predictor& predictor = profiles.of(cluster.gpu_of(first));
    job.memory_bytes_per_second = predictor.constant("memory_bytes_per_second");
    const HostCopies copies(cluster, predictor, first, plan.placement, plan.ranks());
    constexpr double large = 1 << 30;
    if (copies.possible()) job.copy_bytes_per_second = large / copies.seconds(kernels::CopyKind::device_to_host, large);
    return job;
}

}  // namespace orrery::sim
