#include "topology/routing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <queue>
#include <utility>

#include "base/enum_table.hpp"
#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

namespace orrery::topology {

namespace {

constexpr EnumNames<RoutingPolicy> policy_names{"minimal", "ecmp", "spray", "adaptive", "rails"};
constexpr std::uint32_t nothing = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t tried_paths = 4096;

/// "leaf 3" -> 3 for the word "leaf"; nothing for anything else.
std::uint32_t number_after(std::string_view text, std::string_view word) {
    if (!text.starts_with(word) || text.size() <= word.size() + 1 || text[word.size()] != ' ') return nothing;
    std::uint32_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data() + word.size() + 1, end, number);
    return error == std::errc{} && at == end ? number : nothing;
}

}  // namespace

std::span<const std::string_view> routing_policies() { return policy_names; }

RoutingPolicy routing_policy(const std::string& name) {
    if (name.empty()) return RoutingPolicy::minimal;
    if (const auto found = policy_names.find(name)) return *found;
    throw Error("", "/cluster/routing", fmt::format("unknown routing \"{}\"", name), "one of: " + join(policy_names));
}

std::uint32_t hashed_path(const Fabric& fabric, Port from, Port to, std::uint32_t paths, std::uint64_t seed) {
    const std::uint64_t flow = std::uint64_t{fabric.port(from)} << 32 | fabric.port(to);
    return static_cast<std::uint32_t>(mixed(mixed(seed) ^ flow) % paths);
}

Failures::Failures(std::shared_ptr<const Fabric> fabric, const std::vector<std::string>& names)
    : fabric_(std::move(fabric)), failed_(fabric_->links(), false) {
    const std::uint32_t vertices = fabric_->vertices();
    first_.assign(vertices + 1, 0);
    for (std::uint32_t id = 0; id < fabric_->links(); ++id) ++first_[fabric_->ends(id).from + 1];
    for (std::uint32_t v = 0; v < vertices; ++v) first_[v + 1] += first_[v];
    out_.resize(fabric_->links());
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t id = 0; id < fabric_->links(); ++id) out_[next[fabric_->ends(id).from]++] = id;
    for (std::size_t i = 0; i < names.size(); ++i) read(names[i], fmt::format("/cluster/failed/{}", i));
}

void Failures::fail(std::uint32_t link) {
    if (!failed_[link]) ++count_;
    failed_[link] = true;
}

/// A router by layer and number, or a node's NIC.
std::uint32_t Failures::vertex(std::string_view name, const std::string& pointer) const {
    std::map<std::string, std::uint32_t> seen;
    std::uint32_t first = fabric_->parts().on_chip ? 0 : fabric_->ports();
    for (const Layer& layer : fabric_->layers()) {
        const std::string word = fabric_->layer_word(layer.kind);
        const std::uint32_t number = std::min(number_after(name, word), number_after(name, topology::name(layer.kind)));
        const std::uint32_t before = seen[word];
        if (number != nothing && number >= before && number - before < layer.count) return first + number - before;
        seen[word] += layer.count;
        first += layer.count;
    }
    const std::size_t nic_at = name.find(" nic ");
    if (nic_at != std::string_view::npos) {
        const std::uint32_t node = number_after(name.substr(0, nic_at), "node");
        const std::uint32_t nic = number_after(name.substr(nic_at + 1), "nic");
        if (node < fabric_->nodes() && nic < fabric_->parts().nics_per_node) return fabric_->port({node, nic});
    }
    std::string known =
        fmt::format("\"node 0 nic 0\" to \"node {} nic {}\"", fabric_->nodes() - 1, fabric_->parts().nics_per_node - 1);
    for (const auto& [word, count] : seen) known += fmt::format(", \"{0} 0\" to \"{0} {1}\"", word, count - 1);
    throw Error("", pointer, fmt::format("there is no \"{}\"", name), "there are " + known);
}

void Failures::read(const std::string& name, const std::string& pointer) {
    const std::size_t dash = name.find(" - ");
    const std::uint32_t number = number_after(name, "link");
    std::uint32_t from = nothing, to = nothing;
    if (number != nothing) {
        if (number >= fabric_->links()) {
            throw Error("", pointer, fmt::format("there is no \"{}\"", name),
                        fmt::format("the fabric has links 0 to {}", std::max(fabric_->links(), 1U) - 1));
        }
        from = fabric_->ends(number).from, to = fabric_->ends(number).to;
    } else {
        from = vertex(std::string_view(name).substr(0, dash), pointer);
        if (dash != std::string::npos) to = vertex(std::string_view(name).substr(dash + 3), pointer);
    }
    const std::uint32_t before = count_;
    for (std::uint32_t id = 0; id < fabric_->links(); ++id) {
        const Fabric::Ends ends = fabric_->ends(id);
        const bool one_way = ends.from == from && (to == nothing || ends.to == to);
        const bool other_way = ends.to == from && (to == nothing || ends.from == to);
        if (one_way || other_way) fail(id);
    }
    if (count_ == before) {
        throw Error("", pointer, fmt::format("\"{}\" has no link that still works", name),
                    "leave it out, or name two parts that a cable joins");
    }
}

bool Failures::blocks(std::span<const std::uint32_t> route) const {
    return std::ranges::any_of(route, [&](std::uint32_t id) { return failed_[id]; });
}

void Failures::route(Port from, Port to, std::uint32_t path, std::vector<std::uint32_t>& out) const {
    const std::size_t start = out.size();
    const std::uint32_t paths = fabric_->paths(from, to);
    for (std::uint32_t i = 0; i < std::min(paths, tried_paths); ++i) {
        fabric_->route(from, to, (path + i) % paths, out);
        if (!blocks(std::span(out).subspan(start))) return;
        out.resize(start);
    }
    search(from, to, out);
}

/// Breadth first, over working links, not through other ports (but for chips, which pass messages on).
void Failures::search(Port from, Port to, std::vector<std::uint32_t>& out) const {
    std::vector<std::uint32_t> came(first_.size() - 1, nothing);
    std::queue<std::uint32_t> open;
    const std::uint32_t source = fabric_->port(from), sink = fabric_->port(to);
    open.push(source);
    while (!open.empty() && came[sink] == nothing) {
        const std::uint32_t at = open.front();
        open.pop();
        for (const std::uint32_t id : links_of(at)) {
            const std::uint32_t next = fabric_->ends(id).to;
            if (failed_[id] || next == source || came[next] != nothing) continue;
            came[next] = id;
            open.push(next);
        }
    }
    if (came[sink] == nothing) {
        throw Error("", "/cluster/failed", fmt::format("no way is left from node {} to node {}", from.node, to.node),
                    "leave some failures out");
    }
    const std::size_t start = out.size();
    for (std::uint32_t at = sink; at != source; at = fabric_->ends(came[at]).from) out.push_back(came[at]);
    std::reverse(out.begin() + static_cast<std::ptrdiff_t>(start), out.end());
}

std::vector<Port> Failures::cut_off() const {
    const std::uint32_t vertices = static_cast<std::uint32_t>(first_.size() - 1), nics = fabric_->parts().nics_per_node;
    std::vector<std::uint32_t> part(vertices, nothing);
    std::uint32_t parts = 0;
    for (std::uint32_t root = 0; root < vertices; ++root) {
        if (part[root] != nothing) continue;
        std::vector<std::uint32_t> open{root};
        part[root] = parts;
        while (!open.empty()) {
            const std::uint32_t at = open.back();
            open.pop_back();
            for (const std::uint32_t id : links_of(at)) {
                const std::uint32_t next = fabric_->ends(id).to;
                if (failed_[id] || part[next] != nothing) continue;
                part[next] = parts;
                open.push_back(next);
            }
        }
        ++parts;
    }
    // Rails that the fabric does not join are looked at one by one.
    const bool joined = nics == 1 || fabric_->nodes() == 1 || fabric_->joins({0, 0}, {1, 1});
    std::vector<Port> lost;
    for (std::uint32_t rail = 0; rail < (joined ? 1 : nics); ++rail) {
        std::vector<std::uint32_t> size(parts, 0);
        const std::uint32_t step = joined ? 1 : nics;
        for (std::uint32_t p = rail; p < fabric_->ports(); p += step) ++size[part[p]];
        const auto largest = static_cast<std::uint32_t>(std::ranges::max_element(size) - size.begin());
        for (std::uint32_t p = rail; p < fabric_->ports(); p += step) {
            if (part[p] != largest) lost.push_back({p / nics, p % nics});
        }
    }
    return lost;
}

}  // namespace orrery::topology
