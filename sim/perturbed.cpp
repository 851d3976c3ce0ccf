#include "sim/perturbed.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <utility>

#include "base/random.hpp"

namespace orrery::sim {

namespace {

using scenarios::Window;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A window and what it does.
struct Slow {
    Window when;
    double factor;
};

/// Factors multiply where windows meet.
std::vector<Pace> paces(const std::vector<Slow>& windows) {
    std::vector<double> times;
    for (const Slow& slow : windows) {
        times.push_back(slow.when.from);
        if (slow.when.to < infinity) times.push_back(slow.when.to);
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    std::vector<Pace> list;
    for (const double at : times) {
        double factor = 1;
        for (const Slow& slow : windows)
            if (slow.when.from <= at && at < slow.when.to) factor *= slow.factor;
        list.push_back({at, factor});
    }
    return list;
}

/// Members with the same entries of a table get the same mark; 0 is that of none.
class Marker {
public:
    explicit Marker(std::size_t members) : entries_(members) {}
    void add(std::size_t member, std::uint32_t entry) { entries_[member].push_back(entry); }

    /// Marks of the members, and each mark's paces.
    std::vector<std::uint32_t> mark(const std::vector<Slow>& table, std::vector<std::vector<Pace>>& paces_of) const {
        std::map<std::vector<std::uint32_t>, std::uint32_t> known{{{}, 0}};
        paces_of.assign(1, {});
        std::vector<std::uint32_t> marks;
        for (const auto& entries : entries_) {
            const auto [place, fresh] = known.try_emplace(entries, static_cast<std::uint32_t>(known.size()));
            marks.push_back(place->second);
            if (!fresh) continue;
            std::vector<Slow> windows;
            for (const std::uint32_t entry : entries) windows.push_back(table[entry]);
            paces_of.push_back(paces(windows));
        }
        return marks;
    }

private:
    std::vector<std::vector<std::uint32_t>> entries_;
};

}  // namespace

double paced_end(std::span<const Pace> list, double begin, double work) {
    double factor = 1, now = begin;
    std::size_t next = 0;
    for (; next < list.size() && list[next].at <= now; ++next) factor = list[next].factor;
    for (; next < list.size(); ++next) {
        const double room = (list[next].at - now) / factor;
        if (work <= room) break;
        work -= room;
        now = list[next].at;
        factor = list[next].factor;
    }
    return now + work * factor;
}

double jitter_factor(double sigma, std::uint64_t seed, std::uint32_t rank, std::uint32_t operation) {
    const std::uint64_t first = mixed(mixed(seed) ^ (std::uint64_t{rank} << 32U | operation));
    const double radius = std::sqrt(-2 * std::log(unit(first)));
    const double z = radius * std::cos(2 * std::numbers::pi * unit(mixed(first)));
    return std::exp(sigma * z - sigma * sigma / 2);
}

Perturbed::Perturbed(const scenarios::Perturbations& table, std::uint64_t seed, const topology::Cluster& cluster,
                     const strategies::Plan& plan)
    : jitter_(table.jitter), seed_(seed), rank_paces_(1), link_paces_(1) {
    const std::uint32_t ranks = plan.ranks();
    std::vector<Slow> slow;
    if (!table.stragglers.empty()) {
        Marker marker(ranks);
        for (const scenarios::Straggler& straggler : table.stragglers) {
            for (std::uint32_t rank = straggler.first_rank; rank <= std::min(straggler.last_rank, ranks - 1); ++rank)
                marker.add(rank, static_cast<std::uint32_t>(slow.size()));
            slow.push_back({straggler.when, straggler.factor});
        }
        marks_.rank = marker.mark(slow, rank_paces_);
    }
    if (!table.balanced()) load_experts(table, plan);
    slow.clear();
    if (!table.links.empty()) {
        const std::uint32_t links = cluster.fabric().links();
        Marker marker(links);
        for (const scenarios::SlowLink& link : table.links) {
            const topology::Failures named(cluster.shared_fabric(), {link.links});
            for (std::uint32_t id = 0; id < links; ++id)
                if (named.blocks({&id, 1})) marker.add(id, static_cast<std::uint32_t>(slow.size()));
            slow.push_back({link.when, link.factor});
        }
        marks_.link = marker.mark(slow, link_paces_);
    }
    for (const scenarios::Background& background : table.background)
        for (const scenarios::BackgroundFlow& flow : flows_of(background, cluster)) marks_.background.push_back(flow);
}

/// Ranks whose experts take other numbers of tokens get other marks, each with the paces of the mark that it splits.
void Perturbed::load_experts(const scenarios::Perturbations& table, const strategies::Plan& plan) {
    const std::vector<double> loads = scenarios::expert_loads(table, plan.strategy.expert, plan.model.experts);
    const strategies::Mesh mesh = plan.mesh();
    const strategies::AxisSet group = plan.expert_group();
    const double planned = plan.training.taken(1.0);
    std::map<std::pair<std::uint32_t, double>, std::uint32_t> known;
    std::vector<std::vector<Pace>> paces;
    std::vector<std::uint32_t> marks;
    for (std::uint32_t rank = 0; rank < mesh.ranks(); ++rank) {
        std::uint32_t number = 0;  // of the group's ranks, the last axis varies slowest
        for (const strategies::Axis axis : {strategies::Axis::expert, strategies::Axis::context,
                                            strategies::Axis::context_inner, strategies::Axis::tensor})
            if (group.has(axis)) number = number * mesh.along(axis) + mesh.coordinate(rank, axis);
        const double scale = plan.training.taken(loads[number]) / planned;
        expert_scale_.push_back(scale);
        largest_scale_ = std::max(largest_scale_, scale);
        const std::uint32_t before = marks_.of_rank(rank);
        const auto [place, fresh] = known.try_emplace({before, scale}, static_cast<std::uint32_t>(known.size()));
        marks.push_back(place->second);
        if (fresh) paces.push_back(rank_paces_[before]);
    }
    marks_.rank = std::move(marks);
    rank_paces_ = std::move(paces);
}

}  // namespace orrery::sim
