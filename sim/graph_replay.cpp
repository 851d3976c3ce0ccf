#include "sim/graph_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <utility>

#include "base/error.hpp"
#include "sim/contention.hpp"
#include "sim/graph_transfers.hpp"
#include "sim/host_copies.hpp"
#include "sim/host_cores.hpp"
#include "sim/work_times.hpp"

namespace orrery::sim {

namespace {

using strategies::Followers;
using strategies::GraphNode;
using strategies::StepGraph;
using Kind = GraphNode::Kind;
using Use = RankUse::Use;

/// What a rank has one of.
enum Resource : std::uint8_t { device, host_core, copies_out, copies_in };
constexpr std::size_t resources = 4;

Resource resource_of(Kind kind) {
    if (kind == Kind::host) return host_core;
    if (kind == Kind::to_host) return copies_out;
    return kind == Kind::to_device ? copies_in : device;
}

/// How far a rank has come.
struct RankState {
    static constexpr std::uint32_t has_ended = ~std::uint32_t{0};
    std::vector<std::uint32_t> left;  ///< of each node, so many that it waits for; or has_ended
    struct Queue {
        std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
        bool busy = false;
    };
    std::array<Queue, resources> queues;
    std::uint32_t transfers = 0, posted = 0;  ///< under way; that wait for others
    double slowed_until = 0;                  ///< collectives run beside kernels until then, as far as it is known
    double lost = 0;                          ///< of each second by kernels meanwhile
    double since = 0;
    RankUse use;

    [[nodiscard]] Use doing() const {
        if (queues[device].busy) return Use::kernels;
        if (transfers > 0) return Use::communication;
        if (queues[copies_out].busy || queues[copies_in].busy) return Use::copies;
        if (queues[host_core].busy) return Use::host;
        return posted > 0 ? Use::waiting : Use::idle;
    }
    /// What it has done until now counts; to be called before that changes.
    void account(double now) {
        use.seconds[doing()] += now - since;
        if (transfers > 0) use.communicating += now - since;
        since = now;
    }
};

class GraphReplay final : public EventSink {
public:
    GraphReplay(const StepGraph& step, const Network& network, const GraphOptions& options, Engine& engine)
        : step_(step),
          network_(network),
          options_(options),
          engine_(engine),
          transfers_(step, network),
          work_times_(network.kinds(), options.dtype, static_cast<std::uint32_t>(step.ranks.size())),
          ranks_(step.ranks.size()),
          copies_(step.ranks.size()),
          cores_(step.ranks.size()) {
        for (const strategies::RankGraph& graph : step.graphs) followers_.emplace_back(graph);
        for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) nodes_ += step.graph_of(rank).nodes.size();
    }

    GraphReplayed run() && {
        for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
            const auto& nodes = step_.graph_of(rank).nodes;
            ranks_[rank].left.reserve(nodes.size());
            for (const GraphNode& node : nodes) ranks_[rank].left.push_back(node.waits);
            for (std::uint32_t node = 0; node < nodes.size(); ++node)
                if (nodes[node].waits == 0) ready_.emplace_back(rank, node);
        }
        go_on();
        engine_.run(*this);
        if (ended_ < nodes_) refuse();
        for (RankState& rank : ranks_) {
            rank.account(last_);
            result_.ranks.push_back(rank.use);
        }
        result_.seconds = last_;
        result_.nodes = nodes_;
        result_.transfers = transfers_.uses();
        return std::move(result_);
    }

    void on_timer(std::uint64_t tag) override {
        const std::uint64_t what = tag & (tag_of_latency - 1);
        if ((tag & tag_of_latency) != 0) return flow(static_cast<GraphTransfers::Number>(what));
        if ((tag & tag_of_transfer) != 0) return end_transfer(static_cast<GraphTransfers::Number>(what));
        const auto rank = static_cast<std::uint32_t>(what >> 32U), node = static_cast<std::uint32_t>(what);
        RankState& state = ranks_[rank];
        state.account(engine_.now());
        state.queues[resource_of(node_of(rank, node).kind)].busy = false;
        changed_.push_back(rank);
        end(rank, node);
        go_on();
    }
    void on_flow_end(std::uint64_t tag) override { end_transfer(static_cast<GraphTransfers::Number>(tag)); }

private:
    /// A timer's tag is a rank and a node, or one of these and a transfer.
    static constexpr std::uint64_t tag_of_transfer = std::uint64_t{1} << 63U, tag_of_latency = std::uint64_t{1} << 62U;
    static constexpr std::uint64_t nodes_a_word = 1U << 14U;

    [[nodiscard]] const GraphNode& node_of(std::uint32_t rank, std::uint32_t node) const {
        return step_.graph_of(rank).nodes[node];
    }

    /// All that can begin now.
    void go_on() {
        while (!ready_.empty() || !changed_.empty()) {
            while (!ready_.empty()) {
                const auto [rank, node] = ready_.front();
                ready_.pop_front();
                begin(rank, node);
            }
            while (!changed_.empty()) {
                const std::uint32_t rank = changed_.back();
                changed_.pop_back();
                for (std::size_t each = 0; each < resources; ++each) occupy(rank, static_cast<Resource>(each));
            }
        }
    }

    /// All that a node waits for has ended.
    void begin(std::uint32_t rank, std::uint32_t node) {
        const GraphNode& it = node_of(rank, node);
        if (it.kind == Kind::nothing) return end(rank, node);
        RankState& state = ranks_[rank];
        if (!strategies::communicates(it.kind)) {
            state.queues[resource_of(it.kind)].ready.push(node);
            changed_.push_back(rank);
            return;
        }
        state.account(engine_.now());
        ++state.posted;
        if (const auto number = transfers_.post(it, {rank, node, engine_.now()})) begin_transfer(*number);
    }

    void occupy(std::uint32_t rank, Resource which) {
        RankState& state = ranks_[rank];
        auto& queue = state.queues[which];
        if (queue.busy || queue.ready.empty()) return;
        const std::uint32_t node = queue.ready.top();
        queue.ready.pop();
        state.account(engine_.now());
        queue.busy = true;
        engine_.timer(engine_.now() + seconds(rank, node_of(rank, node)), std::uint64_t{rank} << 32U | node);
    }

    double seconds(std::uint32_t rank, const GraphNode& node) {
        const auto size = static_cast<double>(node.bytes);
        switch (node.kind) {
            case Kind::kernel: return kernel_seconds(rank, node);
            case Kind::host: return node.seconds > 0 || size <= 0 ? node.seconds : host_seconds(rank, size);
            default: return copy_seconds(rank, node, size);
        }
    }

    double kernel_seconds(std::uint32_t rank, const GraphNode& node) {
        const bool works = node.flops > 0 || node.bytes > 0;
        if (node.seconds > 0 && !(options_.by_work && works)) {
            ++result_.recorded;
            return node.seconds;
        }
        if (!works) return 0;
        ++result_.by_work;
        const std::uint32_t kind = network_.kinds().of(rank);
        const double alone = work_times_.seconds(kind, node.flops, static_cast<double>(node.bytes));
        const double lost = ranks_[rank].lost, beside = std::max(0.0, ranks_[rank].slowed_until - engine_.now());
        return alone + lost * (lost < 1 ? std::min(beside, alone / (1 - lost)) : beside);
    }

    /// As an update by the optimizer, which is what hosts do.
    double host_seconds(std::uint32_t rank, double bytes) {
        kernels::Pointwise update{kernels::PointwiseKind::adam, options_.dtype, 1, 1};
        const double elements = std::max(1.0, bytes / kernels::bytes(update));
        update.rows = static_cast<std::uint64_t>(elements);
        if (!cores_[rank])
            cores_[rank].emplace(network_.cluster(), predictor(rank), rank, placement_,
                                 static_cast<std::uint32_t>(ranks_.size()));
        return cores_[rank]->seconds(update);
    }

    double copy_seconds(std::uint32_t rank, const GraphNode& node, double bytes) {
        if (!copies_[rank])
            copies_[rank].emplace(network_.cluster(), predictor(rank), rank, placement_,
                                  static_cast<std::uint32_t>(ranks_.size()));
        if (bytes <= 0 || (node.seconds > 0 && !copies_[rank]->possible())) return node.seconds;
        return copies_[rank]->seconds(
            node.kind == Kind::to_host ? kernels::CopyKind::device_to_host : kernels::CopyKind::host_to_device, bytes);
    }
    [[nodiscard]] const calibrate::Predictor& predictor(std::uint32_t rank) const {
        return *network_.kinds()[network_.kinds().of(rank)].predictor;
    }

    void end(std::uint32_t rank, std::uint32_t node) {
        RankState& state = ranks_[rank];
        last_ = state.use.end = engine_.now();
        state.left[node] = RankState::has_ended;
        ++ended_;
        if (options_.progress && ended_ % nodes_a_word == 0) options_.progress(ended_, nodes_);
        for (const std::uint32_t next : followers_[step_.ranks[rank].graph].of(node))
            if (--state.left[next] == 0) ready_.emplace_back(rank, next);
    }

    void begin_transfer(GraphTransfers::Number number) {
        const double now = engine_.now();
        transfers_.begin(number, now);
        const GraphTransfers::Meeting& meeting = transfers_.meeting(number);
        for (const GraphTransfers::Party& party : meeting.parties) {
            RankState& state = ranks_[party.rank];
            state.account(now);
            --state.posted;
            ++state.transfers;
            if (!meeting.collective) continue;
            state.slowed_until = std::max(state.slowed_until, now + meeting.cost->alone);
            state.lost = lost_beside(meeting, network_.kinds().of(party.rank));
        }
        const Transfer& transfer = meeting.cost->transfer;
        if (meeting.links.empty() || transfer.bytes <= 0)
            return engine_.timer(now + meeting.cost->alone, tag_of_transfer | number);
        engine_.timer(now + transfer.latency, tag_of_latency | number);
    }

    /// By kernels of a kind of GPU, of each second of a group's collectives.
    double lost_beside(const GraphTransfers::Meeting& meeting, std::uint32_t kind) {
        const auto [place, fresh] = lost_.try_emplace({meeting.group, kind});
        if (!fresh) return place->second;
        const GpuKind& of = network_.kinds()[kind];
        return place->second = contention_of(network_, meeting.gpus, of.gpu, *of.predictor).whole;
    }

    /// The latency of a transfer is over.
    void flow(GraphTransfers::Number number) {
        const GraphTransfers::Meeting& meeting = transfers_.meeting(number);
        engine_.flow(meeting.links, meeting.cost->transfer.bytes, meeting.cost->transfer.rate_limit, number);
    }

    void end_transfer(GraphTransfers::Number number) {
        for (const GraphTransfers::Party& party : transfers_.meeting(number).parties) {
            RankState& state = ranks_[party.rank];
            state.account(engine_.now());
            --state.transfers;
            end(party.rank, party.node);
        }
        if (const auto next = transfers_.end(number, engine_.now())) begin_transfer(*next);
        go_on();
    }

    /// Whoever waits, waits for a rank that waits itself.
    [[noreturn]] void refuse() const {
        const auto stuck = transfers_.stuck();
        if (!stuck) throw Error("a step without an end", "write the trace anew");
        const auto tell = [&](std::uint32_t rank, std::uint32_t node) {
            const GraphNode& it = node_of(rank, node);
            return fmt::format("node {} ({})", it.id, strategies::describe(step_, rank, it));
        };
        const std::uint32_t other = transfers_.missing(*stuck).front();
        const RankState& state = ranks_[other];
        const auto& nodes = step_.graph_of(other).nodes;
        std::uint32_t blocked = 0;
        for (std::uint32_t node = 0; node < nodes.size(); ++node)
            if (strategies::communicates(nodes[node].kind) && state.left[node] == 0) blocked = node;
        throw Error(step_.ranks[stuck->rank].file, "",
                    fmt::format("deadlock: {} waits for rank {}, which comes to it only behind its own {}",
                                tell(stuck->rank, stuck->node), other, tell(other, blocked)),
                    "ranks must come to their messages and collectives in an order that lets one of them go on: look "
                    "at what these nodes wait for (data_deps)");
    }

    const StepGraph& step_;
    const Network& network_;
    const GraphOptions& options_;
    Engine& engine_;
    GraphTransfers transfers_;
    WorkTimes work_times_;
    strategies::RankPlacement placement_;
    std::vector<Followers> followers_;  // by graph
    std::vector<RankState> ranks_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> lost_;  // beside a group's collectives, by kind of GPU
    std::vector<std::optional<HostCopies>> copies_;
    std::vector<std::optional<HostCores>> cores_;
    std::deque<std::pair<std::uint32_t, std::uint32_t>> ready_;
    std::vector<std::uint32_t> changed_;
    std::uint64_t nodes_ = 0, ended_ = 0;
    double last_ = 0;
    GraphReplayed result_;
};

}  // namespace

std::string_view RankUse::name(std::size_t use) {
    constexpr std::array<std::string_view, uses> names{"kernels", "communication", "copies", "host", "waiting", "idle"};
    return names.at(use);
}

GraphReplayed replay_graph(const StepGraph& step, const topology::Cluster& cluster, const Profiles& profiles,
                           const GraphOptions& options) {
    if (step.ranks.size() > cluster.gpus())
        throw Error(step.ranks.back().file, "",
                    fmt::format("is rank {}'s, but cluster {} has {} GPUs", step.ranks.size() - 1, cluster.name(),
                                cluster.gpus()),
                    fmt::format("--set cluster.nodes={}",
                                (step.ranks.size() + cluster.gpus_per_node() - 1) / cluster.gpus_per_node()));
    const Network network(cluster, profiles);
    std::vector<double> capacities(cluster.links());
    for (topology::LinkId link = 0; link < cluster.links(); ++link) capacities[link] = network.capacity(link);
    const auto engine = make_fluid_engine(std::move(capacities));
    return GraphReplay(step, network, options, *engine).run();
}

}  // namespace orrery::sim
