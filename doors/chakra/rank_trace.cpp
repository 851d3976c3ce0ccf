#include "doors/chakra/rank_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "base/error.hpp"
#include "documents/message.hpp"
#include "doors/chakra/node.hpp"
#include "doors/chakra/wire.hpp"

namespace orrery::doors::chakra {

namespace {

using kernels::CollectiveKind;
using strategies::GraphNode;
using Kind = GraphNode::Kind;

/// CollectiveCommType of et_def.proto.
enum class CommType : std::uint8_t {
    all_reduce,
    reduce,
    all_gather,
    gather,
    scatter,
    broadcast,
    all_to_all,
    reduce_scatter,
    reduce_scatter_block,
    barrier
};

/// NCCL's barrier, as PyTorch asks for it: a sum of one number.
constexpr std::uint64_t barrier_bytes = 4;

class RankReader {
public:
    RankReader(const std::string& file, std::uint32_t rank, std::uint32_t ranks, const Room& room)
        : file_(file), rank_(rank), ranks_(ranks), room_(room), messages_(file) {}

    RankTrace run() &&;

private:
    [[noreturn]] void refuse_file(const std::string& what) const {
        throw Error(file_, "", what,
                    "give a rank's trace as protobuf (.et): chakra_converter makes it of PyTorch's, `orrery export "
                    "chakra` of a scenario");
    }
    [[noreturn]] void refuse(const std::string& what, const std::string& remedy) const {
        throw Error(file_, "", fmt::format("node {} ({}) {}", at_, name_, what), remedy);
    }
    template <class Do>
    auto guarded(Do what) const {
        try {
            return what();
        } catch (const Damaged& damage) {
            throw Error(file_, "",
                        fmt::format("message {} (at byte {}) is none of a Chakra trace: {}", messages_.count() - 1,
                                    messages_.place(), damage.what),
                        "copy the file again, or write it anew");
        }
    }

    void add(const Node& node) {
        if (out_.graph.nodes.size() >= room_.nodes || waits_.size() + node.waits.size() > room_.waits)
            throw Error(file_, "",
                        fmt::format("has more nodes or dependencies than there is room for, with those of the ranks "
                                    "before it: {} and {}",
                                    out_.graph.nodes.size(), waits_.size()),
                        "record one step, or fewer micro-batches");
        GraphNode made;
        made.id = node.id;
        made.first_wait = static_cast<std::uint32_t>(waits_.size());
        made.waits = static_cast<std::uint32_t>(node.waits.size());
        waits_.insert(waits_.end(), node.waits.begin(), node.waits.end());
        made.seconds = seconds_of(node);
        describe(made, node);
        out_.graph.nodes.push_back(made);
    }

    [[nodiscard]] double seconds_of(const Node& node) const {
        if (!node.runtime_seconds) return 1e-6 * static_cast<double>(node.duration_micros);
        if (!std::isfinite(*node.runtime_seconds) || *node.runtime_seconds < 0)
            refuse("has a runtime_seconds that is no duration", "write a number of seconds, or leave it out");
        return *node.runtime_seconds;
    }

    void describe(GraphNode& made, const Node& node) {
        if (node.type >= node_types)
            refuse(fmt::format("is of type {}, which is none of et_def.proto", node.type),
                   "types are 0 (INVALID_NODE) to 7 (COMM_COLL_NODE); write the trace by version 0.0.4 of the schema");
        switch (static_cast<NodeType>(node.type)) {
            case NodeType::invalid: break;
            case NodeType::metadata: define_groups(node.inputs_values); break;
            case NodeType::mem_load:
            case NodeType::mem_store:
                made.kind = static_cast<NodeType>(node.type) == NodeType::mem_load ? Kind::to_device : Kind::to_host;
                made.bytes = size(node.tensor_size, "tensor_size");
                break;
            case NodeType::comp: compute(made, node); break;
            case NodeType::send:
            case NodeType::recv: message(made, node); break;
            case NodeType::collective: collective(made, node); break;
        }
    }

    [[nodiscard]] std::uint64_t size(const std::optional<std::int64_t>& value, const char* name) const {
        constexpr std::int64_t most = std::int64_t{1} << 60U;
        if (value && (*value < 0 || *value > most))
            refuse(fmt::format("has {} {}", name, *value), "write a size of at least 0");
        return static_cast<std::uint64_t>(value.value_or(0));
    }

    void compute(GraphNode& made, const Node& node) {
        made.kind = node.is_cpu_op ? Kind::host : Kind::kernel;
        made.bytes = size(node.tensor_size, "tensor_size");
        made.flops = static_cast<double>(size(node.num_ops, "num_ops"));
        const bool works = made.bytes > 0 || made.flops > 0;
        if (made.seconds <= 0 && !works) ++out_.liberties.workless;
        if (made.seconds <= 0 && works && node.is_cpu_op) ++out_.liberties.undated;
    }

    void message(GraphNode& made, const Node& node) {
        const bool sends = static_cast<NodeType>(node.type) == NodeType::send;
        made.kind = sends ? Kind::send : Kind::receive;
        const auto own = sends ? node.comm_src : node.comm_dst, other = sends ? node.comm_dst : node.comm_src;
        if (own && *own != rank_)
            refuse(fmt::format("has comm_{} {}, but is rank {}'s", sends ? "src" : "dst", *own, rank_),
                   "each rank sends and receives for itself: give each file the number of its rank");
        if (!other)
            refuse(fmt::format("does not say whom it {}", sends ? "sends to" : "receives from"),
                   fmt::format("write its comm_{}", sends ? "dst" : "src"));
        if (*other < 0 || *other >= ranks_ || *other == rank_)
            refuse(fmt::format("has comm_{} {}, but the other ranks are among 0 to {}", sends ? "dst" : "src", *other,
                               ranks_ - 1),
                   "give the files of all ranks");
        made.peer = static_cast<std::int32_t>(*other - rank_);
        if (node.comm_tag.value_or(0) < 0 || node.comm_tag.value_or(0) > 0xffffffffLL)
            refuse(fmt::format("has comm_tag {}", *node.comm_tag), "tags are 0 to 4294967295");
        made.channel = static_cast<std::uint32_t>(node.comm_tag.value_or(0));
        made.bytes = size(node.comm_size, "comm_size");
    }

    void collective(GraphNode& made, const Node& node) {
        made.kind = Kind::collective;
        made.bytes = size(node.comm_size, "comm_size");
        made.collective = kind_of(node.comm_type, made);
        const std::string name(node.pg_name);
        made.channel = group_number_.try_emplace(name, static_cast<std::uint32_t>(group_number_.size())).first->second;
    }

    CollectiveKind kind_of(const std::optional<std::int64_t>& type, GraphNode& made) {
        if (!type) refuse("has no comm_type", "write the kind of collective that it is");
        switch (static_cast<CommType>(std::clamp<std::int64_t>(*type, -1, 255))) {
            case CommType::all_reduce: return CollectiveKind::all_reduce;
            case CommType::all_gather: return CollectiveKind::all_gather;
            case CommType::broadcast: return CollectiveKind::broadcast;
            case CommType::all_to_all: return CollectiveKind::all_to_all;
            case CommType::reduce_scatter:
            case CommType::reduce_scatter_block: return CollectiveKind::reduce_scatter;
            case CommType::reduce: ++out_.liberties.reduces; return CollectiveKind::broadcast;
            case CommType::barrier:
                ++out_.liberties.barriers;
                made.bytes = barrier_bytes;
                return CollectiveKind::all_reduce;
            case CommType::gather:
            case CommType::scatter: break;
        }
        refuse(fmt::format("has comm_type {}, which is not modelled", *type),
               "all_reduce 0, reduce 1, all_gather 2, broadcast 5, all_to_all 6, reduce_scatter 7 and 8, and barrier 9 "
               "are; write a gather or scatter as sends and receives");
    }

    /// PyTorch's process groups, as ASTRA-sim reads them: ['[{"pg_name": "1", "ranks": [0, 1]}, ...]'].
    void define_groups(std::string_view values) {
        if (values.size() < 4) return;
        const auto list = nlohmann::json::parse(values.substr(2, values.size() - 4), nullptr, false);
        if (!list.is_array()) return;
        for (const auto& group : list) {
            if (!group.is_object() || !group.contains("pg_name") || !group["pg_name"].is_string()) continue;
            if (!group.contains("ranks") || !group["ranks"].is_array()) continue;
            std::vector<std::uint32_t> ranks;
            for (const auto& rank : group["ranks"]) {
                if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= ranks_)
                    refuse(fmt::format("has a group of rank {}, but there are ranks 0 to {}", documents::shown(rank),
                                       ranks_ - 1),
                           "give the files of all ranks");
                ranks.push_back(rank.get<std::uint32_t>());
            }
            std::ranges::sort(ranks);
            ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
            out_.defined[group["pg_name"].get<std::string>()] = std::move(ranks);
        }
    }

    /// Nodes by id, and waits as places among them.
    void sort() {
        auto& nodes = out_.graph.nodes;
        std::ranges::stable_sort(nodes, {}, &GraphNode::id);
        const auto twice = std::ranges::adjacent_find(nodes, {}, &GraphNode::id);
        if (twice != nodes.end())
            throw Error(file_, "", fmt::format("two nodes have the id {}", twice->id), "ids are of one node each");
        auto& waits = out_.graph.waits;
        waits.reserve(waits_.size());
        for (GraphNode& node : nodes) {
            const std::size_t first = waits.size();
            for (std::uint32_t i = 0; i < node.waits; ++i) waits.push_back(place(node, waits_[node.first_wait + i]));
            std::sort(waits.begin() + static_cast<std::ptrdiff_t>(first), waits.end());
            waits.erase(std::unique(waits.begin() + static_cast<std::ptrdiff_t>(first), waits.end()), waits.end());
            node.first_wait = static_cast<std::uint32_t>(first);
            node.waits = static_cast<std::uint32_t>(waits.size() - first);
        }
        nodes.shrink_to_fit();
        waits.shrink_to_fit();
        waits_ = {};
    }

    [[nodiscard]] std::uint32_t place(const GraphNode& node, std::uint64_t id) const {
        const auto& nodes = out_.graph.nodes;
        const auto found = std::ranges::lower_bound(nodes, id, {}, &GraphNode::id);
        if (found == nodes.end() || found->id != id)
            throw Error(file_, "", fmt::format("node {} waits for node {}, which there is not", node.id, id),
                        "dependencies (data_deps, ctrl_deps) are ids of the same file: it may be cut off");
        return static_cast<std::uint32_t>(found - nodes.begin());
    }

    /// Groups as they first come by id, so that ranks which do the same number them alike; and whose turn it is.
    void number() {
        std::vector<std::string> names(group_number_.size());
        for (const auto& [name, as_read] : group_number_) names[as_read] = name;
        std::vector<std::uint32_t> by_id(names.size(), static_cast<std::uint32_t>(names.size()));
        std::vector<std::uint32_t> turns;
        std::unordered_map<std::uint64_t, std::unordered_map<std::uint32_t, std::uint32_t>> messages;
        for (GraphNode& node : out_.graph.nodes) {
            if (node.kind == Kind::collective) {
                std::uint32_t& known = by_id[node.channel];
                if (known == names.size()) {
                    known = static_cast<std::uint32_t>(turns.size());
                    turns.push_back(0);
                    out_.groups.push_back(names[node.channel]);
                }
                node.channel = known;
                node.turn = turns[known]++;
            } else if (strategies::communicates(node.kind)) {
                const auto way =
                    std::uint64_t{static_cast<std::uint32_t>(node.peer)} << 1U | (node.kind == Kind::send ? 1U : 0U);
                node.turn = messages[way][node.channel]++;
            }
        }
    }

    std::string file_;
    std::uint32_t rank_, ranks_;
    Room room_;
    Messages messages_;
    std::uint64_t at_ = 0;
    std::string name_;
    std::vector<std::uint64_t> waits_;  // ids
    std::unordered_map<std::string, std::uint32_t> group_number_;
    RankTrace out_;
};

RankTrace RankReader::run() && {
    std::string_view message;
    if (!messages_.next(message)) refuse_file("is empty");
    guarded([&] {
        if (!is_metadata(message)) refuse_file("does not begin with the version of a Chakra trace");
    });
    while (messages_.next(message)) {
        const Node node = guarded([&] { return parse_node(message); });
        at_ = node.id;
        name_ = documents::printable(node.name);
        add(node);
    }
    sort();
    number();
    return std::move(out_);
}

}  // namespace

Liberties& Liberties::operator+=(const Liberties& other) {
    reduces += other.reduces;
    barriers += other.barriers;
    workless += other.workless;
    undated += other.undated;
    return *this;
}

RankTrace read_rank(const std::string& file, std::uint32_t rank, std::uint32_t ranks, const Room& room) {
    return RankReader(file, rank, ranks, room).run();
}

}  // namespace orrery::doors::chakra
