#include "report/chakra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <tuple>

#include "base/overloaded.hpp"
#include "report/wire_format.hpp"
#include "strategies/hazards.hpp"
#include "strategies/messages.hpp"

namespace orrery::report {

namespace {

using strategies::AxisSet;
using strategies::Collective;
using strategies::Op;
using strategies::StepProgram;

// Field numbers of et_def.proto.
namespace node {
enum : std::uint32_t { id = 1, name = 2, type = 3, data_deps = 5, duration_micros = 7, attr = 10 };
}
namespace attribute {
enum : std::uint32_t {
    name = 1,
    double_val = 3,
    int32_val = 7,
    int64_val = 9,
    uint64_val = 13,
    bool_val = 27,
    bool_list = 28,
    string_val = 29
};
}
enum class NodeType : std::uint8_t { mem_load = 2, mem_store = 3, comp = 4, send = 5, recv = 6, collective = 7 };

/// CollectiveCommType of et_def.proto.
std::uint64_t comm_type(const Collective& it) {
    using kernels::CollectiveKind;
    if (it.by == strategies::GradReduceCollective::reduce) return 1;
    switch (it.on_links()) {
        case CollectiveKind::all_reduce: return 0;
        case CollectiveKind::all_gather: return 2;
        case CollectiveKind::broadcast: return 5;
        case CollectiveKind::all_to_all: return 6;
        case CollectiveKind::reduce_scatter: return 7;
        case CollectiveKind::send_recv: break;
    }
    throw std::invalid_argument("a group's send_recv has no node");
}

/// A node whose attributes are added one by one.
class Node {
public:
    Node(std::uint64_t id, const std::string& name, NodeType type, std::span<const std::uint64_t> waits_for) {
        message_.number(node::id, id);
        message_.text(node::name, name);
        message_.number(node::type, static_cast<std::uint64_t>(type));
        message_.numbers(node::data_deps, waits_for);
    }
    void add(std::string_view name, std::uint32_t field, std::uint64_t value) {
        WireMessage attr = named(name);
        attr.number(field, value);
        message_.message(node::attr, attr);
    }
    void add(std::string_view name, std::string_view value) {
        WireMessage attr = named(name);
        attr.text(attribute::string_val, value);
        message_.message(node::attr, attr);
    }
    void add_duration(std::uint64_t micros, double seconds) {
        message_.number(node::duration_micros, micros);
        WireMessage attr = named("runtime_seconds");
        attr.real(attribute::double_val, seconds);
        message_.message(node::attr, attr);
    }
    /// ASTRA-sim looks at the first dimensions that its network has.
    void add_all_dimensions() {
        constexpr std::array<std::uint64_t, 4> all{1, 1, 1, 1};
        WireMessage list, attr = named("involved_dim");
        list.numbers(1, all);
        attr.message(attribute::bool_list, list);
        message_.message(node::attr, attr);
    }
    [[nodiscard]] std::string text() const { return message_.delimited(); }

private:
    static WireMessage named(std::string_view name) {
        WireMessage attr;
        attr.text(attribute::name, name);
        return attr;
    }
    WireMessage message_;
};

std::string name_of(const StepProgram& step, const Op& op) {
    std::string name = fmt::format("{} ({}", step.names[op.label.name], strategies::name(op.label.phase));
    if (op.label.layer >= 0) name += fmt::format(", layer {}", op.label.layer);
    if (op.label.micro_batch >= 0) name += fmt::format(", micro-batch {}", op.label.micro_batch);
    return name + ')';
}

/// What each operation of a program waits for among those that have a node: neither waits of the host nor collectives
/// of a rank by itself do, for which ASTRA-sim would stand still.
class Waits {
public:
    Waits(const strategies::Program& program, const strategies::Mesh& mesh)
        : program_(program), mesh_(mesh), hazards_(program) {}

    /// Asked for one operation after the other; nothing for those without a node.
    std::vector<std::uint64_t> of(std::uint32_t op) {
        const Op& it = program_.ops[op];
        std::set<std::uint64_t> waits;
        for (const std::uint32_t other : hazards_.of(op)) add(waits, other);
        if (is_wait(op)) {  // whoever is issued after it waits with it
            for (auto& pending : pending_) pending.insert(waits.begin(), waits.end());
            of_host_ = std::move(waits);
            return {};
        }
        const auto lane = static_cast<std::size_t>(it.lane);
        if (!has_node(op)) {  // whoever follows it waits for what it would wait for
            pending_[lane].insert(waits.begin(), waits.end());
            if (last_[lane] >= 0) waits.insert(static_cast<std::uint64_t>(last_[lane]));
            through_.emplace(op, std::move(waits));
            return {};
        }
        waits.merge(pending_[lane]);
        pending_[lane].clear();
        if (last_[lane] >= 0) waits.insert(static_cast<std::uint64_t>(last_[lane]));
        last_[lane] = op;
        return {waits.begin(), waits.end()};
    }
    /// What the host's last wait is for.
    [[nodiscard]] const std::set<std::uint64_t>& of_host() const { return of_host_; }
    [[nodiscard]] bool is_wait(std::uint32_t op) const {
        return std::holds_alternative<strategies::HostSync>(program_.ops[op].what);
    }
    [[nodiscard]] bool has_node(std::uint32_t op) const {
        const auto* const collective = std::get_if<Collective>(&program_.ops[op].what);
        return !is_wait(op) && (collective == nullptr || mesh_.group_size(collective->group) > 1);
    }

private:
    void add(std::set<std::uint64_t>& waits, std::uint32_t other) const {
        if (is_wait(other)) return;
        if (const auto known = through_.find(other); known != through_.end())
            waits.insert(known->second.begin(), known->second.end());
        else
            waits.insert(other);
    }

    const strategies::Program& program_;
    const strategies::Mesh& mesh_;
    strategies::Hazards hazards_;
    std::array<std::set<std::uint64_t>, strategies::lanes> pending_;
    std::set<std::uint64_t> of_host_;
    std::map<std::uint32_t, std::set<std::uint64_t>> through_;  // of operations without a node: what they wait for
    std::array<std::int64_t, strategies::lanes> last_ = make_none();

    static std::array<std::int64_t, strategies::lanes> make_none() {
        std::array<std::int64_t, strategies::lanes> none{};
        none.fill(-1);
        return none;
    }
};

/// Pairs sends with receives: both sides number what goes along an axis in one direction, activations and gradients
/// apart, which in a pipeline that turns around go the same way.
class Tags {
public:
    /// delta: of the sender.
    std::uint64_t next(strategies::Axis axis, std::int32_t delta, strategies::Lane lane) {
        const bool gradients = strategies::carries_gradients(lane);
        const auto channel = 4 * static_cast<std::uint64_t>(axis) + (gradients ? 2 : 0) + (delta > 0 ? 1 : 0);
        return (*count_.try_emplace({axis, delta, gradients}, 0).first).second++ * 4 * strategies::axes + channel;
    }
    /// Of a ring's messages, by their number; their ends lie along other axes than those of any send.
    static std::uint64_t of_ring(std::uint64_t number) { return number * 4 * strategies::axes; }

private:
    std::map<std::tuple<strategies::Axis, std::int32_t, bool>, std::uint64_t> count_;
};

void add_transfer(Node& to, std::uint32_t from, std::uint32_t into, std::uint64_t tag, std::uint64_t bytes) {
    to.add("comm_src", attribute::int32_val, from);
    to.add("comm_dst", attribute::int32_val, into);
    to.add("comm_tag", attribute::int32_val, tag);
    to.add("comm_size", attribute::int64_val, bytes);
}

/// ASTRA-sim's roofline divides by a node's FLOPs: a kernel that only moves bytes needs one.
constexpr std::uint64_t least_ops = 1;

std::uint64_t whole(double value) { return static_cast<std::uint64_t>(std::max(0.0, value + 0.5)); }

/// Whole microseconds of one duration after the other, so that their sum is right; no node has none, which would say
/// that its duration is not known.
class Micros {
public:
    std::uint64_t next(double seconds) {
        left_ += 1e6 * seconds;
        const double micros = std::max(1.0, std::floor(left_));
        left_ -= micros;
        return static_cast<std::uint64_t>(micros);
    }

private:
    double left_ = 0.5;
};

/// Writes the nodes of one rank.
class RankWriter {
public:
    RankWriter(const StepProgram& step, std::uint32_t rank, const ChakraTimes* times,
               std::function<std::uint32_t(AxisSet)> group)
        : step_(step),
          program_(step.programs[step.role[rank]]),
          rank_(rank),
          times_(times),
          group_(std::move(group)),
          waits_(program_, step.mesh) {}

    void run(const std::function<void(std::string_view)>& sink) {
        WireMessage metadata;
        metadata.text(1, chakra_version);
        std::string text = metadata.delimited();
        constexpr std::size_t piece = 1U << 16U;
        for (std::uint32_t op = 0; op < program_.ops.size(); ++op) {
            std::vector<std::uint64_t> waits = ids_of(waits_.of(op));
            if (times_ != nullptr) text += launch(op, waits);
            if (!waits_.has_node(op)) continue;
            text += node(op, waits);
            if (text.size() < piece) continue;
            sink(text);
            text.clear();
        }
        sink(text);
    }

private:
    /// Timed steps have two ids for each operation.
    [[nodiscard]] std::uint64_t id_of(std::uint64_t op) const { return times_ == nullptr ? op : 2 * op + 1; }
    /// Of the message that goes out where a ring passes something on; the operation's own is of the one that comes in.
    [[nodiscard]] std::uint64_t passing_id(std::uint64_t op) const { return id_of(program_.ops.size() + op); }

    [[nodiscard]] bool passes_on(std::uint64_t op) const {
        const auto* const it = std::get_if<Collective>(&program_.ops[op].what);
        return it != nullptr && it->kind == kernels::CollectiveKind::send_recv && step_.mesh.group_size(it->group) > 1;
    }

    [[nodiscard]] std::vector<std::uint64_t> ids_of(const std::vector<std::uint64_t>& ops) const {
        std::vector<std::uint64_t> ids;
        for (const std::uint64_t op : ops) ids.push_back(id_of(op));
        for (const std::uint64_t op : ops)
            if (passes_on(op)) ids.push_back(passing_id(op));
        return ids;
    }

    [[nodiscard]] Node made(std::uint32_t op, NodeType type, const std::vector<std::uint64_t>& waits,
                            bool on_host = false) const {
        Node made(id_of(op), name_of(step_, program_.ops[op]), type, waits);
        made.add("is_cpu_op", attribute::bool_val, on_host ? 1 : 0);
        return made;
    }

    /// Turns waits into those of a timed step. The node of the host that launches the operation; none where that takes
    /// no time. What the host waits for its next launch waits for.
    std::string launch(std::uint32_t op, std::vector<std::uint64_t>& waits) {
        if (waits_.is_wait(op)) {
            const auto& of_host = waits_.of_host();
            for (const std::uint64_t id : ids_of({of_host.begin(), of_host.end()})) launch_waits_.insert(id);
            return {};
        }
        const double seconds = times_->launch(rank_, op);
        if (seconds <= 0) return {};
        const std::vector<std::uint64_t> before(launch_waits_.begin(), launch_waits_.end());
        Node node(2 * std::uint64_t{op}, "launch " + name_of(step_, program_.ops[op]), NodeType::comp, before);
        node.add("is_cpu_op", attribute::bool_val, 1);
        node.add_duration(host_micros_.next(seconds), seconds);
        launch_waits_ = {2 * std::uint64_t{op}};
        waits.push_back(2 * std::uint64_t{op});
        return node.text();
    }

    void time(Node& node, std::uint32_t op) {
        if (times_ == nullptr) return;
        const double seconds = times_->device(rank_, op);
        node.add_duration(micros_.next(seconds), seconds);
    }

    std::string computation(std::uint32_t op, std::uint32_t number, const std::vector<std::uint64_t>& waits,
                            bool on_host) {
        const kernels::Kernel& kernel = step_.kernels[number];
        Node out = made(op, NodeType::comp, waits, on_host);
        out.add("num_ops", attribute::int64_val, std::max(least_ops, whole(kernels::flops(kernel))));
        out.add("tensor_size", attribute::uint64_val, whole(kernels::bytes(kernel)));
        time(out, op);
        return out.text();
    }

    std::string node(std::uint32_t op, const std::vector<std::uint64_t>& waits) {
        return std::visit(
            Overloaded{
                [&](const strategies::Compute& it) { return computation(op, it.kernel, waits, false); },
                [&](const strategies::HostCompute& it) { return computation(op, it.kernel, waits, true); },
                [&](const Collective& it) { return collective(op, it, waits); },
                [&](const strategies::Send& send) {
                    Node out = made(op, NodeType::send, waits);
                    add_transfer(out, rank_, step_.mesh.peer(rank_, send.axis, send.delta),
                                 sent_.next(send.axis, send.delta, program_.ops[op].lane), send.bytes);
                    return out.text();
                },
                [&](const strategies::Recv& recv) {
                    Node out = made(op, NodeType::recv, waits);
                    add_transfer(out, step_.mesh.peer(rank_, recv.axis, recv.delta), rank_,
                                 received_.next(recv.axis, -recv.delta, program_.ops[op].lane), recv.bytes);
                    return out.text();
                },
                [&](const strategies::Copy& copy) {
                    using To = strategies::Copy::To;
                    const bool back = copy.to == To::device || copy.to == To::host_from_storage;
                    Node out = made(op, back ? NodeType::mem_load : NodeType::mem_store, waits);
                    // A reader takes bytes for those of the device's memory; of drives the time alone is said.
                    if (!copy.of_drives()) out.add("tensor_size", attribute::uint64_val, copy.bytes);
                    time(out, op);
                    return out.text();
                },
                [](const strategies::Call&) -> std::string { throw std::invalid_argument("a call has no node"); },
                [](const strategies::HostSync&) { return std::string(); },
            },
            program_.ops[op].what);
    }

    std::string collective(std::uint32_t op, const Collective& it, const std::vector<std::uint64_t>& waits) {
        if (passes_on(op)) return pass_on(op, it, waits);
        Node out = made(op, NodeType::collective, waits);
        const bool gathers = it.kind == kernels::CollectiveKind::all_gather;
        out.add("comm_type", attribute::int64_val, comm_type(it));
        out.add("comm_size", attribute::int64_val, gathers ? it.bytes / step_.mesh.group_size(it.group) : it.bytes);
        out.add_all_dimensions();
        out.add("pg_name", std::to_string(group_(it.group)));
        return out.text();
    }

    /// A ring: to the next rank of the group, from the one before.
    std::string pass_on(std::uint32_t op, const Collective& it, const std::vector<std::uint64_t>& waits) {
        const std::vector<std::uint32_t> ring = step_.mesh.group(rank_, it.group);
        const std::size_t own = static_cast<std::size_t>(std::ranges::find(ring, rank_) - ring.begin());
        const std::uint64_t tag = Tags::of_ring(passed_on_[it.group.bits()]++);
        Node out(passing_id(op), name_of(step_, program_.ops[op]), NodeType::send, waits);
        out.add("is_cpu_op", attribute::bool_val, 0);
        add_transfer(out, rank_, ring[(own + 1) % ring.size()], tag, it.bytes);
        Node in = made(op, NodeType::recv, waits);
        add_transfer(in, ring[(own + ring.size() - 1) % ring.size()], rank_, tag, it.bytes);
        return out.text() + in.text();
    }

    const StepProgram& step_;
    const strategies::Program& program_;
    std::uint32_t rank_;
    const ChakraTimes* times_;
    std::function<std::uint32_t(AxisSet)> group_;
    Waits waits_;
    Tags sent_, received_;
    std::map<AxisSet::Bits, std::uint64_t> passed_on_;  // by axes
    Micros micros_, host_micros_;
    std::set<std::uint64_t> launch_waits_;  // ids
};

}  // namespace

ChakraTrace::ChakraTrace(const StepProgram& unrolled, std::optional<ChakraTimes> times)
    : step_(unrolled), times_(std::move(times)) {
    for (std::uint32_t rank = 0; rank < step_.role.size(); ++rank)
        for (const Op& op : step_.programs[step_.role[rank]].ops) {
            if (std::holds_alternative<strategies::Call>(op.what))
                throw std::invalid_argument("a trace of a program with calls");
            const auto* const collective = std::get_if<Collective>(&op.what);
            if (collective == nullptr || step_.mesh.group_size(collective->group) == 1 ||
                !step_.mesh.leads(rank, collective->group))
                continue;
            const auto number = static_cast<std::uint32_t>(group_.size() + 1);
            group_.try_emplace({collective->group.bits(), rank}, number);
        }
}

std::uint32_t ChakraTrace::group_of(std::uint32_t rank, AxisSet set) const {
    return group_.at({set.bits(), step_.mesh.group(rank, set).front()});
}

std::map<std::uint32_t, std::vector<std::uint32_t>> ChakraTrace::groups() const {
    std::map<std::uint32_t, std::vector<std::uint32_t>> all;
    for (const auto& [key, number] : group_) {
        AxisSet set;
        for (const strategies::Axis axis : strategies::all_axes)
            if ((key.first >> static_cast<unsigned>(axis) & 1U) != 0) set = set | AxisSet{axis};
        all.emplace(number, step_.mesh.group(key.second, set));
    }
    return all;
}

std::string ChakraTrace::groups_json() const {
    nlohmann::ordered_json all = nlohmann::ordered_json::object();
    for (const auto& [number, ranks] : groups()) all[std::to_string(number)] = ranks;
    return all.dump() + '\n';
}

void ChakraTrace::write(std::uint32_t rank, const std::function<void(std::string_view)>& sink) const {
    std::map<AxisSet::Bits, std::uint32_t> known;
    const auto group = [&, rank](AxisSet set) {
        const auto [found, fresh] = known.try_emplace(set.bits(), 0);
        if (fresh) found->second = group_of(rank, set);
        return found->second;
    };
    RankWriter(step_, rank, times_ ? &*times_ : nullptr, group).run(sink);
}

std::uint64_t ChakraTrace::bytes(std::uint32_t rank) const {
    constexpr std::uint64_t of_node = 120;   // name, two or three dependencies, four attributes with their names
    constexpr std::uint64_t of_times = 160;  // a duration twice, and the launch's node
    return (of_node + (times_ ? of_times : 0)) * step_.programs[step_.role[rank]].ops.size();
}

}  // namespace orrery::report
