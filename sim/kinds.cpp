#include "sim/kinds.hpp"

#include <algorithm>
#include <stdexcept>

namespace orrery::sim {

const calibrate::Predictor& Profiles::of(const topology::Gpu& gpu) const {
    if (all_ != nullptr) return *all_;
    const auto found = by_gpu_.find(gpu.name);
    if (found == by_gpu_.end()) throw std::logic_error("no profile for " + gpu.name);
    return *found->second;
}

Kinds::Kinds(const topology::Cluster& cluster, const Profiles& profiles) {
    std::uint32_t node = 0;
    for (const topology::NodeGroup& group : cluster.groups()) {
        const auto same = [&](const GpuKind& kind) { return kind.gpu.name == group.gpu.name; };
        const auto place = std::ranges::find_if(kinds_, same);
        const auto number = static_cast<std::uint32_t>(place - kinds_.begin());
        if (place == kinds_.end()) kinds_.push_back({group.gpu, &profiles.of(group.gpu), node});
        node += group.nodes;
        stretches_.push_back({node * cluster.gpus_per_node(), number});
    }
    payload_share_ =
        kinds_.front().predictor->constant_or("network_efficiency", cluster.fabric().parts().adapter.payload_share);
}

std::uint32_t Kinds::of(topology::GpuId gpu) const {
    std::size_t at = 0;
    while (at + 1 < stretches_.size() && gpu >= stretches_[at].end) ++at;
    return stretches_[at].kind;
}

std::vector<std::uint32_t> Kinds::among(std::span<const topology::GpuId> gpus) const {
    if (size() == 1) return {0};
    std::vector<bool> seen(size());
    for (const topology::GpuId gpu : gpus) seen[of(gpu)] = true;
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t kind = 0; kind < size(); ++kind)
        if (seen[kind]) numbers.push_back(kind);
    return numbers;
}

std::optional<double> Kinds::among_nodes(kernels::CollectiveKind kind, const Group& group, double bytes) const {
    const std::vector<std::uint32_t> kinds = among(group.gpus());
    if (kinds.size() > 1 || group.rails() * group.nodes() != group.ranks()) return std::nullopt;
    const auto known = kinds_[kinds.front()].predictor->measured(kind, group.ranks(), group.nodes(), bytes);
    return known ? std::optional(known->seconds) : std::nullopt;
}

double Kinds::most(std::span<const std::uint32_t> kinds, const std::string& constant) const {
    double value = kinds_[kinds.front()].predictor->constant(constant);
    for (const std::uint32_t kind : kinds) value = std::max(value, kinds_[kind].predictor->constant(constant));
    return value;
}

}  // namespace orrery::sim
