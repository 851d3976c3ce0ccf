#include "sim/collective/schedule.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"

namespace orrery::sim {

using topology::GpuId;

Group::Group(std::span<const GpuId> gpus, std::uint32_t gpus_per_node, Grid grid, double once)
    : gpus_(gpus.begin(), gpus.end()), grid_(std::move(grid)), once_(once) {
    if (gpus_.empty()) throw Error("a collective of no GPUs");
    if (std::ranges::adjacent_find(gpus_, std::ranges::greater_equal{}) != gpus_.end())
        throw Error("the GPUs of a collective are not in ascending order", "name each once");
    for (std::uint32_t i = 0; i < gpus_.size(); ++i)
        if (i == 0 || gpus_[i] / gpus_per_node != gpus_[i - 1] / gpus_per_node) first_.push_back(i);
    first_.push_back(ranks());
    rails_ = ranks();
    for (std::uint32_t i = 0; i < nodes(); ++i) rails_ = std::min(rails_, first_[i + 1] - first_[i]);
}

namespace {

/// The member of the sender's node that stands where `to` stands in its own; the sender when there is none.
GpuId on_rail_of(const Group& group, std::uint32_t from_node, std::uint32_t to_index, GpuId from) {
    const auto members = group.node(from_node);
    return to_index < members.size() ? members[to_index] : from;
}

}  // namespace

std::vector<Leg> expanded(const Phase& phase, const Group& group) {
    std::vector<Leg> all = phase.legs;
    if (phase.pair_bytes <= 0) return all;
    for (std::uint32_t a = 0; a < group.nodes(); ++a)
        for (const GpuId from : group.node(a))
            for (std::uint32_t b = 0; b < group.nodes(); ++b) {
                const auto there = group.node(b);
                for (std::uint32_t j = 0; j < there.size(); ++j) {
                    if (there[j] == from) continue;
                    const GpuId via = phase.forwarded && a != b ? on_rail_of(group, a, j, from) : from;
                    all.push_back({from, there[j], phase.pair_bytes, via});
                }
            }
    return all;
}

namespace {

enum class End : std::uint8_t { from, to };

std::vector<double> bytes_at(const Schedule& schedule, const Group& group, End end) {
    std::map<GpuId, std::size_t> index;
    for (std::size_t i = 0; i < group.gpus().size(); ++i) index[group.gpus()[i]] = i;
    std::vector<double> bytes(group.ranks());
    for (const Phase& phase : schedule.phases) {
        for (const Leg& t : phase.legs) bytes[index.at(end == End::from ? t.from : t.to)] += t.bytes;
        for (double& b : bytes) b += phase.pair_bytes * (group.ranks() - 1.0);
    }
    return bytes;
}

}  // namespace

std::vector<double> sent_bytes(const Schedule& schedule, const Group& group) {
    return bytes_at(schedule, group, End::from);
}

std::vector<double> received_bytes(const Schedule& schedule, const Group& group) {
    return bytes_at(schedule, group, End::to);
}

double busiest_node_bytes(const Schedule& schedule, const Group& group) {
    std::map<GpuId, std::uint32_t> node_of;
    for (std::uint32_t i = 0; i < group.nodes(); ++i)
        for (const GpuId gpu : group.node(i)) node_of[gpu] = i;
    std::vector<double> out(group.nodes()), in(group.nodes());
    for (const Phase& phase : schedule.phases) {
        for (const Leg& t : phase.legs) {
            const std::uint32_t a = node_of.at(t.from), b = node_of.at(t.to);
            if (a == b) continue;
            out[a] += t.bytes;
            in[b] += t.bytes;
        }
        for (std::uint32_t i = 0; i < group.nodes(); ++i) {
            const auto here = static_cast<double>(group.node(i).size());
            const double across = phase.pair_bytes * here * (group.ranks() - here);
            out[i] += across;
            in[i] += across;
        }
    }
    return std::max(*std::ranges::max_element(out), *std::ranges::max_element(in));
}

}  // namespace orrery::sim
