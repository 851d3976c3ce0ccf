#include "topology/design.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "topology/fat_tree_fabric.hpp"

namespace orrery::topology {

namespace {

/// Above the largest switch on offer (512 ports of 100 Gb/s on a 51.2 Tb/s chip) by a factor of two.
constexpr std::uint32_t max_switch_ports = 1024;

[[noreturn]] void refuse(const char* field, const std::string& message, const std::string& hint) {
    throw Error("", std::string("/cluster/") + field, message, hint);
}

/// With switches of another size the fabric itself says how many nodes it can join.
std::uint32_t choose_nodes(const Design& design, const ClusterSpec& spec) {
    const std::uint32_t nodes = spec.nodes == 0 ? design.preset.default_nodes : spec.nodes;
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

const Gpu& choose_gpu(const Design& design, const ClusterSpec& spec) {
    if (!spec.gpu.empty()) return find_gpu(spec.gpu);
    return find_gpu(design.gpu.empty() ? find_node(design.node).gpu : design.gpu);
}

const NodeSpec& choose_node(const Design& design, const Gpu& gpu) {
    const Socket socket = socket_of(gpu);
    const NodeSpec& own = find_node(design.node);
    if (socket == own.socket) return own;
    if (design.any_node) return usual_node(socket);
    refuse("gpu",
           fmt::format("{} ({}) does not fit the {} board of {}", gpu.name, name(socket), name(own.socket),
                       design.preset.name),
           "GPUs that fit: " + gpus_with(own.socket));
}

std::uint32_t choose_gpus(const Design& design, const ClusterSpec& spec, const NodeSpec& node) {
    if (spec.gpus_per_node == 0 || spec.gpus_per_node == node.gpus) return node.gpus;
    if (design.reference) {
        refuse("gpus_per_node",
               fmt::format("{} GPUs a node; the reference architecture {} has {}", spec.gpus_per_node,
                           design.preset.name, node.gpus),
               fmt::format("nearest legal value: {}", node.gpus));
    }
    if (spec.gpus_per_node > node.gpus) {
        refuse("gpus_per_node", fmt::format("{} GPUs do not fit a {} node", spec.gpus_per_node, node.name),
               fmt::format("legal values: 1 to {}", node.gpus));
    }
    return spec.gpus_per_node;
}

/// Every NIC must serve the same number of GPUs.
std::string legal_nics(std::uint32_t gpus) {
    std::vector<std::string> legal;
    for (std::uint32_t n = 1; n <= gpus; ++n) {
        if (gpus % n == 0) legal.push_back(std::to_string(n));
    }
    return join(legal);
}

std::uint32_t choose_nics(const Design& design, const ClusterSpec& spec, const NodeSpec& node, std::uint32_t gpus) {
    const std::uint32_t own = design.nics == 0 ? node.nics : design.nics;
    if (spec.nics_per_node == 0) {
        // A node of which some GPUs are used keeps their share of the NICs, rounded down to serve all evenly.
        std::uint32_t share = std::clamp(own * gpus / node.gpus, 1U, gpus);
        while (gpus % share != 0) --share;
        return share;
    }
    if (design.reference && spec.nics_per_node != own) {
        refuse("nics_per_node",
               fmt::format("{} NICs a node; the reference architecture {} has {}", spec.nics_per_node,
                           design.preset.name, own),
               fmt::format("nearest legal value: {}", own));
    }
    if (gpus % spec.nics_per_node != 0) {
        refuse("nics_per_node", fmt::format("{} NICs cannot be shared evenly by {} GPUs", spec.nics_per_node, gpus),
               "legal values: " + legal_nics(gpus) + "; count several NICs of one GPU as one of their joint rate");
    }
    return spec.nics_per_node;
}

double choose_rate(const Design& design, const ClusterSpec& spec, const NodeSpec& node) {
    const double own = design.nic_bytes_per_second == 0 ? node.nic_bytes_per_second : design.nic_bytes_per_second;
    const double asked = spec.nic_bytes_per_second;
    if (asked == 0) return own;
    if (!(std::isfinite(asked) && asked > 0)) {
        refuse("nic_rate", fmt::format("{} bytes per second is not a rate", asked), "write it like \"100 Gb/s\"");
    }
    if (design.reference && asked != own) {
        refuse(
            "nic_rate",
            fmt::format("{:g} Gb/s; the reference architecture {} has {:g} Gb/s", asked * 8e-9, design.preset.name,
                        own * 8e-9),
            fmt::format("nearest legal value: \"{:g} Gb/s\"; presets such as dgx-a100, dgx-h100 or ethernet take any",
                        own * 8e-9));
    }
    return asked;
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

FatTree choose_fabric(const Design& design, const ClusterSpec& spec, std::uint32_t nodes, std::uint32_t nics) {
    const double ratio = choose_oversubscription(design, spec);
    const FatTree fabric = plan_fat_tree(fabric_of(design, nodes, nics, ratio, choose_ports(design, spec)));
    if (ratio > 1 && fabric.tiers < 2) {
        refuse("oversubscription", fmt::format("{}: {} nodes fit on one switch, which has no uplinks", ratio, nodes),
               "leave it out, or ask for more nodes");
    }
    return fabric;
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

Cluster build(const Design& design, const ClusterSpec& spec) {
    const Gpu& gpu = choose_gpu(design, spec);
    const NodeSpec& node = choose_node(design, gpu);
    const std::uint32_t nodes = choose_nodes(design, spec);
    const std::uint32_t gpus = choose_gpus(design, spec, node);
    const std::uint32_t nics = choose_nics(design, spec, node, gpus);
    const double rate = choose_rate(design, spec, node);
    const FabricParts parts{.nodes = nodes,
                            .nics_per_node = nics,
                            .nic_bytes_per_second = rate,
                            .trunk_bytes_per_second = rate,
                            .adapter = design.adapter,
                            .fabric_switch = design.fabric_switch};
    auto fabric = std::make_shared<FatTreeFabric>(choose_fabric(design, spec, nodes, nics), parts);
    auto plan = std::make_shared<NodePlan>(build_node(node, gpus, nics));
    return {std::string(design.preset.name), {{nodes, gpu, std::move(plan)}}, std::move(fabric)};
}

}  // namespace orrery::topology
