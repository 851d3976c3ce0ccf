// The fabric of a design with a scenario's overrides, checked.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/error.hpp"
#include "base/text.hpp"
#include "topology/cable_list.hpp"
#include "topology/design.hpp"
#include "topology/fat_tree_fabric.hpp"
#include "topology/simgrid_xml.hpp"

namespace orrery::topology {

using namespace hardware;

namespace {

/// Above the largest switch on offer (512 ports of 100 Gb/s on a 51.2 Tb/s chip) by a factor of two.
constexpr std::uint32_t max_switch_ports = 1024;

[[noreturn]] void refuse(const char* field, const std::string& message, const std::string& hint) {
    throw Error("", std::string("/cluster/") + field, message, hint);
}

/// With switches of another size the fabric itself says how many nodes it can join.
std::uint32_t choose_nodes(const Design& design, const ClusterSpec& spec, std::uint32_t more) {
    const std::uint32_t nodes = (spec.nodes == 0 ? design.preset.default_nodes : spec.nodes) + more;
    if (nodes > design.preset.max_nodes && spec.switch_ports == 0) {
        refuse("nodes", fmt::format("{} nodes are more than {} has", nodes, design.preset.name),
               fmt::format("nearest legal value: {}{}", design.preset.max_nodes,
                           design.reference ? "" : "; or larger switches: switch_ports"));
    }
    return nodes;
}

std::uint32_t choose_ports(const Design& design, const ClusterSpec& spec) {
    const std::uint32_t own = design.fabric_switch.ports, asked = spec.switch_ports == 0 ? own : spec.switch_ports;
    if (design.reference && asked != own) {
        refuse("switch_ports",
               fmt::format("{} ports a switch; the reference architecture {} has {}", asked, design.preset.name, own),
               fmt::format("nearest legal value: {}; presets such as dgx-a100, dgx-h100 or ethernet take any", own));
    }
    if (asked < 2 || asked > max_switch_ports) {
        refuse("switch_ports", fmt::format("{} ports a switch", asked),
               fmt::format("legal values: 2 to {}", max_switch_ports));
    }
    return asked;
}

std::optional<Version> version_of(const std::string& text, const char* key) {
    if (text.empty()) return std::nullopt;
    const auto version = version_from(text);
    if (!version) refuse(key, fmt::format("\"{}\" is no version", text), "as in 2.18.5");
    return version;
}

NetworkLibraries choose_libraries(const Design& design, const ClusterSpec& spec) {
    const NetworkLibraries libraries{version_of(spec.nccl_version, "nccl_version"),
                                     version_of(spec.aws_ofi_nccl_version, "aws_ofi_nccl_version")};
    if (libraries.nccl && design.node.empty()) refuse("nccl_version", "chips do without NCCL", "leave it out");
    if (libraries.nccl && *libraries.nccl < first_nccl)
        refuse("nccl_version", fmt::format("what NCCL {} did is not known", spec.nccl_version),
               fmt::format("nearest legal value: {}.{}.{}", first_nccl.major, first_nccl.minor, first_nccl.patch));
    if (libraries.aws_ofi_nccl && design.adapter.name != efa_adapter.name)
        refuse("aws_ofi_nccl_version", fmt::format("{} has no adapters of Amazon's", design.preset.name),
               "leave it out, or use the preset efa");
    return libraries;
}

double choose_oversubscription(const Design& design, const ClusterSpec& spec) {
    if (spec.oversubscription == 0) return 1;
    if (design.reference && spec.oversubscription != 1) {
        refuse(
            "oversubscription",
            fmt::format("{}; the reference architecture {} is non-blocking", spec.oversubscription, design.preset.name),
            "nearest legal value: 1; presets such as dgx-a100, dgx-h100 or ethernet take any");
    }
    return spec.oversubscription;
}

std::shared_ptr<const Fabric> leaf_spine(const Design& design, const FabricParts& parts) {
    const std::uint32_t nodes = parts.nodes, nics = parts.nics_per_node;
    const double ratio = parts.oversubscription;
    const FatTree tree = plan_fat_tree(fabric_of(design, nodes, nics, ratio, parts.fabric_switch.ports));
    if (ratio > 1 && tree.tiers < 2) {
        refuse("oversubscription", fmt::format("{}: {} nodes fit on one switch, which has no uplinks", ratio, nodes),
               "leave it out, or ask for more nodes");
    }
    return std::make_shared<FatTreeFabric>(tree, parts);
}

/// The keys of /cluster that only a named fabric uses, as far as the scenario gives them.
std::vector<std::string_view> keys_given(const ClusterSpec& spec) {
    const FabricSpec& f = spec.fabric;
    std::vector<std::string_view> keys;
    const auto add = [&](bool given, std::string_view key) {
        if (given) keys.push_back(key);
    };
    add(!f.shape.empty(), "shape");
    add(!f.parents.empty(), "parents");
    add(f.terminals > 0, "terminals");
    add(f.routers > 0, "routers");
    add(f.spines > 0, "spines");
    add(f.global_links > 0, "global_links");
    add(f.groups > 0, "groups");
    return keys;
}

/// Every key given must mean something to the fabric.
void check_keys(const FabricKind& kind, const ClusterSpec& spec) {
    auto given = keys_given(spec);
    if (spec.switch_ports > 0) given.push_back("switch_ports");
    if (spec.oversubscription > 0) given.push_back("oversubscription");
    const std::string known = fmt::format(", {},", kind.keys);
    for (const std::string_view key : given) {
        if (known.find(fmt::format(", {},", key)) != std::string::npos) continue;
        refuse(std::string(key).c_str(), fmt::format("a {} fabric has no {}", kind.name, key),
               kind.keys.empty() ? "it has no keys but link_rate; leave this one out"
                                 : fmt::format("its keys are: {}, link_rate", kind.keys));
    }
}

std::string even_shape_text(std::uint32_t nodes, std::uint32_t dimensions) {
    std::vector<std::string> sizes;
    for (const std::uint32_t size : even_shape(nodes, dimensions)) sizes.push_back(std::to_string(size));
    return join(sizes, "x");
}

/// A preset's own fabric of another size keeps its number of dimensions, and so do slices of it.
FabricSpec resized(const Design& design, const ClusterSpec& spec) {
    FabricSpec fabric = spec.fabric;
    if (!fabric.shape.empty()) return fabric;
    if (fabric.kind.empty())
        fabric.shape = spec.nodes > 0 ? even_shape_text(spec.nodes, design.dimensions) : std::string(design.shape);
    else if (fabric.kind == "multislice" && design.dimensions > 0 && fabric.groups > 0 && spec.nodes >= fabric.groups)
        fabric.shape = even_shape_text(spec.nodes / fabric.groups, design.dimensions);
    return fabric;
}

/// A fabric of fabric_kinds(), as many nodes as fit when the scenario sizes the fabric and not the nodes.
std::shared_ptr<const Fabric> named(const Design& design, const ClusterSpec& spec, FabricParts parts,
                                    std::uint32_t more) {
    const bool own = spec.fabric.kind.empty();
    const FabricKind& kind = find_fabric(own ? design.fabric : std::string_view(spec.fabric.kind));
    check_keys(kind, spec);
    const std::string_view direct[] = {"torus", "multislice", "tofu", "hyperx", "full-mesh", "dragonfly"};
    if (design.node.empty() &&
        (std::ranges::find(direct, kind.name) == std::end(direct) || spec.fabric.terminals > 1)) {
        refuse(spec.fabric.terminals > 1 ? "terminals" : "fabric",
               fmt::format("the chips of {} have their routers on them", design.preset.name),
               "fabrics for them, with one terminal a router: " + join(direct));
    }
    const bool sized = own || !keys_given(spec).empty() || (kind.name == "k-ary-fat-tree" && spec.switch_ports > 0);
    parts.nodes = spec.nodes > 0 ? spec.nodes + more : sized ? 0 : design.preset.default_nodes + more;
    parts.on_chip = design.node.empty();
    parts.chips_per_host = std::max(1U, design.chips_per_host);
    parts.host_bytes_per_second = design.host_bytes_per_second;
    const FabricSpec shaped = resized(design, spec);
    if (shaped.link_bytes_per_second > 0) parts.trunk_bytes_per_second = shaped.link_bytes_per_second;
    auto fabric = kind.make(shaped, parts);
    const std::uint32_t slice = fabric->nodes() / std::max(1U, kind.name == "multislice" ? shaped.groups : 1);
    if (parts.on_chip && (own || kind.name == "multislice") && slice > design.preset.max_nodes)
        refuse("nodes", fmt::format("a slice of {} chips is more than {} has", slice, design.preset.name),
               fmt::format("nearest legal value: {} a slice; \"fabric\": \"multislice\" joins slices by their hosts",
                           design.preset.max_nodes));
    if (fabric->nodes() <= more) {
        refuse("more_nodes", fmt::format("{} more nodes leave none for the preset's own", more), "ask for fewer");
    }
    return fabric;
}

/// Everything about the fabric stands in the file.
std::shared_ptr<const Fabric> from_file(const Design& design, const ClusterSpec& spec, FabricParts parts,
                                        std::uint32_t more) {
    auto given = keys_given(spec);
    if (!spec.fabric.kind.empty()) given.push_back("fabric");
    if (spec.fabric.link_bytes_per_second > 0) given.push_back("link_rate");
    if (spec.nic_bytes_per_second > 0) given.push_back("nic_rate");
    if (spec.switch_ports > 0) given.push_back("switch_ports");
    if (spec.oversubscription > 0) given.push_back("oversubscription");
    if (!given.empty()) {
        refuse(std::string(given.front()).c_str(), "stands beside fabric_file, which says all of the fabric",
               "leave it out");
    }
    if (design.node.empty())
        refuse("fabric_file", "the chips of a pod have a fabric of their own", "use another preset");
    parts.nodes = spec.nodes == 0 ? 0 : spec.nodes + more;
    if (!spec.fabric_file.ends_with(".xml")) return read_cable_list(spec.fabric_file, parts);
    if (!spec.failed.empty()) {
        refuse("failed", "a SimGrid platform lists the only route of every pair of hosts",
               "leave it out, and change the routes in " + spec.fabric_file);
    }
    return read_simgrid_xml(spec.fabric_file, parts);
}

}  // namespace

FatTreeSpec fabric_of(const Design& design, std::uint32_t nodes, std::uint32_t nics, double oversubscription,
                      std::uint32_t switch_ports) {
    return {.nodes = nodes,
            .nics_per_node = nics,
            .planes = design.planes == 0 ? nics : std::gcd(design.planes, nics),
            .ports = switch_ports == 0 ? design.fabric_switch.ports : switch_ports,
            .oversubscription = oversubscription,
            .leaves_per_group = design.leaves_per_group,
            .one_switch = !design.reference};
}

std::shared_ptr<const Fabric> choose_fabric(const Design& design, const ClusterSpec& spec, const NodeSide& side) {
    if (design.reference && !spec.fabric.kind.empty()) {
        refuse("fabric", fmt::format("the reference architecture {} has a fabric of its own", design.preset.name),
               "presets such as dgx-a100, dgx-h100 or ethernet take any");
    }
    if (design.reference && !spec.fabric_file.empty()) {
        refuse("fabric_file", fmt::format("the reference architecture {} has a fabric of its own", design.preset.name),
               "presets such as dgx-a100, dgx-h100 or ethernet take any");
    }
    FabricParts parts{.nics_per_node = side.nics,
                      .nic_bytes_per_second = side.nic_bytes_per_second,
                      .trunk_bytes_per_second = side.nic_bytes_per_second,
                      .adapter = design.adapter,
                      .fabric_switch = design.fabric_switch};
    parts.libraries = choose_libraries(design, spec);
    parts.fabric_switch.ports = choose_ports(design, spec);
    parts.oversubscription = choose_oversubscription(design, spec);
    if (!spec.fabric_file.empty()) return from_file(design, spec, parts, side.more_nodes);
    if (!spec.fabric.kind.empty() || !design.fabric.empty()) return named(design, spec, parts, side.more_nodes);
    const auto unused = keys_given(spec);
    if (!unused.empty() || spec.fabric.link_bytes_per_second > 0) {
        refuse(unused.empty() ? "link_rate" : std::string(unused.front()).c_str(), "describes a fabric without a name",
               "name it: \"fabric\": \"torus\", or another of `orrery list fabrics`");
    }
    parts.nodes = choose_nodes(design, spec, side.more_nodes);
    return leaf_spine(design, parts);
}

}  // namespace orrery::topology
