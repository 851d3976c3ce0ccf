#include "topology/xgft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace orrery::topology {

using namespace hardware;

namespace {

std::string list(const std::vector<std::uint32_t>& sizes) { return fmt::format("{}", fmt::join(sizes, ", ")); }

}  // namespace

Xgft::Xgft(std::vector<std::uint32_t> children, std::vector<std::uint32_t> parents, std::string name,
           const FabricParts& parts)
    : Fabric(parts), m_(std::move(children)), w_(std::move(parents)), name_(std::move(name)) {
    std::uint32_t place = 1, copy = 1, router = 0, link = 0;
    places_.assign(height(), 1);
    for (std::size_t level = height(); level > 1; --level) places_[level - 2] = place *= m_[level - 1];
    for (std::size_t level = 1; level <= height(); ++level) {
        copies_.push_back(copy *= w_[level - 1]);
        first_router_.push_back(router);
        first_link_.push_back(link);
        router += places_[level - 1] * copy;
        if (level < height()) link += places_[level - 1] * copy * w_[level];
    }
}

std::string Xgft::describe() const {
    const std::string formula = fmt::format("XGFT({}; {}; {})", height(), list(m_), list(w_));
    return name_.empty() ? formula : fmt::format("{}, {}", name_, formula);
}

std::vector<Layer> Xgft::layers() const {
    std::vector<Layer> all;
    for (std::size_t level = 1; level <= height(); ++level) {
        const VertexKind kind = level == 1 ? VertexKind::leaf : level == 2 ? VertexKind::spine : VertexKind::core;
        all.push_back({kind, places_[level - 1] * copies(level)});
    }
    return all;
}

std::size_t Xgft::meeting_level(std::uint32_t a, std::uint32_t b) const {
    std::size_t level = 1;
    while (a != b) {
        a /= m_[level];
        b /= m_[level];
        ++level;
    }
    return level;
}

std::uint32_t Xgft::paths(Port from, Port to) const { return copies(meeting_level(router_of(from), router_of(to))); }

/// The path's number has the copies as digits, that of level 2 lowest: (destination / (w_1 .. w_l)) mod w_(l+1) for
/// each level are the digits of the destination's number in these bases.
std::uint32_t Xgft::usual_path(Port from, Port to) const { return port(to) % paths(from, to); }

void Xgft::route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                        std::vector<std::uint32_t>& out) const {
    const std::uint32_t a = router_of(from), b = router_of(to);
    const std::size_t top = meeting_level(a, b), start = out.size();
    std::uint32_t up_place = a, down_place = b;
    std::vector<std::uint32_t>::size_type downs = 0;
    for (std::size_t level = 1; level < top; ++level, ++downs) {
        const std::uint32_t copy = path % copies(level), parent = path / copies(level) % w_[level];
        const auto link = [&](std::uint32_t place) {
            return first_link_[level - 1] + (place * copies(level) + copy) * w_[level] + parent;
        };
        // Upward links in order; downward ones, found from the bottom, go behind them in reverse.
        out.insert(out.begin() + static_cast<std::ptrdiff_t>(start + downs), first + link(up_place));
        out.insert(out.begin() + static_cast<std::ptrdiff_t>(start + downs + 1),
                   first + first_link_.back() + link(down_place));
        up_place /= m_[level];
        down_place /= m_[level];
    }
}

Trunk Xgft::trunk(std::uint32_t id) const {
    const bool down = id >= first_link_.back();
    const std::uint32_t up = down ? id - first_link_.back() : id;
    std::size_t level = 1;
    while (level + 1 < height() && first_link_[level] <= up) ++level;
    const std::uint32_t at = up - first_link_[level - 1], lower = at / w_[level], parent = at % w_[level];
    const std::uint32_t place = lower / copies(level), copy = lower % copies(level);
    const std::uint32_t upper = place / m_[level] * copies(level + 1) + parent * copies(level) + copy;
    Trunk t{first_router_[level - 1] + lower, first_router_[level] + upper, 1, static_cast<std::uint32_t>(level + 1),
            level == 1 ? spine_cable_metres : core_cable_metres};
    if (down) std::swap(t.from, t.to);
    return t;
}

double Xgft::bisection_bytes_per_second() const {
    double cables = ports();
    for (std::size_t level = 1; level < height(); ++level) {
        cables = std::min(cables, static_cast<double>(places_[level - 1]) * copies(level) * w_[level]);
    }
    return cables / 2 * parts().trunk_bytes_per_second;
}

std::shared_ptr<const Fabric> make_xgft(const FabricSpec& spec, FabricParts parts) {
    if (spec.shape.empty() || spec.parents.empty()) {
        throw Error("", spec.shape.empty() ? "/cluster/shape" : "/cluster/parents", "an XGFT needs its two lists",
                    "shape gives the children by level, parents the parents: \"shape\": \"16x16x32\", \"parents\": "
                    "\"1x16x16\"");
    }
    const auto m = parse_shape(spec.shape, "shape", Xgft::most_levels);
    const auto w = parse_shape(spec.parents, "parents", Xgft::most_levels);
    if (m.size() != w.size() || w[0] != 1) {
        throw Error("", "/cluster/parents", fmt::format("\"{}\" beside the shape \"{}\"", spec.parents, spec.shape),
                    "give as many parents as children, beginning with 1: a port has one cable");
    }
    // Links and routers of every level stay below 2^24.
    std::uint64_t ports = 1;
    for (const std::uint32_t children : m) ports *= children;
    std::uint64_t here = ports;
    for (std::size_t level = 0; level < m.size(); ++level) {
        here = here * w[level];
        if (here > (1U << 24)) {
            throw Error("", "/cluster/parents", fmt::format("level {} has {} cables", level + 1, here),
                        "choose fewer parents");
        }
        here /= m[level];
    }
    return std::make_shared<Xgft>(m, w, "", fit(parts, ports, "XGFT"));
}

std::shared_ptr<const Fabric> make_k_ary(const FabricSpec&, FabricParts parts) {
    const std::uint32_t k = parts.fabric_switch.ports, half = k / 2;
    if (k % 2 != 0 || k < 4 || k > 256) {
        throw Error("", "/cluster/switch_ports", fmt::format("a {}-ary fat-tree", k), "legal values: 4, 6, ... 256");
    }
    parts = fit(parts, std::uint64_t{half} * half * k, "fat-tree");
    return std::make_shared<Xgft>(std::vector{half, half, k}, std::vector{1U, half, half},
                                  fmt::format("{}-ary fat-tree", k), parts);
}

}  // namespace orrery::topology
