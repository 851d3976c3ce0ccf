#include "topology/design.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "hardware/power.hpp"
#include "topology/nccl_xml.hpp"

namespace orrery::topology {

using namespace hardware;

namespace {

[[noreturn]] void refuse(const char* field, const std::string& message, const std::string& hint) {
    throw Error("", std::string("/cluster/") + field, message, hint);
}

/// Looks a GPU up for another place of the scenario than /cluster/gpu.
const Gpu& find_gpu_at(std::string_view name, const std::string& pointer) {
    try {
        const Gpu& gpu = find_gpu(name);
        if (!is_chip(gpu.socket)) return gpu;
    } catch (const Error& error) {
        throw Error("", pointer, error.message(), error.hint());
    }
    throw Error("", pointer, fmt::format("{} sits in no node", name), "name a GPU of `orrery list clusters`");
}

/// As nvidia-smi's --power-limit holds a board, of which there is one kind.
void limit_power(Gpu& gpu, const ClusterSpec& spec) {
    if (spec.gpu_power_limit == 0) return;
    const double most = power_of(gpu.name).gpu;
    if (most == 0) refuse("gpu_power_limit", fmt::format("what a {} draws is not known", gpu.name), "leave it out");
    const double idle = hardware::power_of(gpu.name).idle;
    if (spec.gpu_power_limit <= idle)
        refuse("gpu_power_limit",
               fmt::format("{:g} W, but {} draws {:g} W without computing", spec.gpu_power_limit, gpu.name, idle),
               fmt::format("give more than {:g}, or leave it out", idle));
    if (spec.gpu_power_limit > most)
        refuse("gpu_power_limit",
               fmt::format("{:g} W, but a {} draws {:g} W at most", spec.gpu_power_limit, gpu.name, most),
               fmt::format("give at most {:g}, or leave it out", most));
    if (!spec.more_nodes.empty())
        refuse("gpu_power_limit", "given, but more_nodes have other GPUs", "leave one of them out");
    gpu.power_limit_watts = spec.gpu_power_limit;
}

Gpu choose_gpu(const Design& design, const ClusterSpec& spec) {
    const std::string_view own = design.gpu.empty() ? std::string_view(find_node(design.node).gpu) : design.gpu;
    Gpu gpu = find_gpu(spec.gpu.empty() ? own : std::string_view(spec.gpu));
    limit_power(gpu, spec);
    return gpu;
}

/// "superpod-h100, dgx-h100": presets whose nodes take such GPUs.
std::string presets_with(Socket socket) {
    std::vector<std::string_view> names;
    for (const auto designs : {superpod_designs(), rail_optimized_designs(), ethernet_designs()})
        for (const Design& design : designs)
            if (design.any_node || (!design.node.empty() && find_node(design.node).socket == socket))
                names.push_back(design.preset.name);
    return join(names);
}

/// A node with such boards, which may have fewer NVLinks than there is room for.
NodeSpec with_boards(NodeSpec node, const Gpu& gpu) {
    if (gpu.nvlinks > 0) node.nvlinks = std::min(node.nvlinks, gpu.nvlinks);
    return node;
}

Design with_nics_of(Design design, Socket socket) {
    if (design.nics_of == nullptr) return design;
    if (const auto nics = design.nics_of(socket)) {
        design.nics = nics->count;
        design.nic_bytes_per_second = nics->bytes_per_second;
    }
    return design;
}

const NodeSpec& choose_node(const Design& design, const Gpu& gpu) {
    const Socket socket = gpu.socket;
    const NodeSpec& own = find_node(design.node);
    if (socket == own.socket) return own;
    if (design.any_node && !is_chip(socket)) return usual_node(socket);
    refuse("gpu",
           fmt::format("{} ({}) does not fit the {} board of {}", gpu.name, name(socket), name(own.socket),
                       design.preset.name),
           fmt::format("GPUs that fit: {}; clusters of {}: {}", gpus_with(own.socket), gpu.name, presets_with(socket)));
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

double choose_rate(const Design& design, const ClusterSpec& spec, double of_node) {
    const double own = design.nic_bytes_per_second == 0 ? of_node : design.nic_bytes_per_second;
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

/// "4 x P100": nodes of that GPU's usual kind, or the preset's where it fits, with as many GPUs and NICs in use.
std::vector<NodeGroup> more_nodes(const Design& design, const ClusterSpec& spec, std::uint32_t gpus,
                                  std::uint32_t nics) {
    std::vector<NodeGroup> groups;
    for (std::size_t i = 0; i < spec.more_nodes.size(); ++i) {
        const std::string& text = spec.more_nodes[i];
        const std::string field = fmt::format("more_nodes/{}", i);
        std::uint32_t count = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
        const std::string_view rest(end, text.data() + text.size());
        if (error != std::errc{} || count == 0 || !rest.starts_with(" x ")) {
            refuse(field.c_str(), fmt::format("\"{}\" does not say how many nodes of which GPU", text),
                   "write it like \"4 x P100\"");
        }
        if (design.reference) {
            refuse(field.c_str(), fmt::format("the reference architecture {} has one kind of node", design.preset.name),
                   "presets such as dgx-1v, dgx-a100 or ethernet take more kinds");
        }
        const Gpu& gpu = find_gpu_at(rest.substr(3), "/cluster/" + field);
        const NodeSpec node = with_boards(
            gpu.socket == find_node(design.node).socket ? find_node(design.node) : usual_node(gpu.socket), gpu);
        if (node.gpus < gpus) {
            refuse(field.c_str(), fmt::format("a {} node has {} GPUs, not {}", node.name, node.gpus, gpus),
                   fmt::format("set gpus_per_node to {} for all nodes", node.gpus));
        }
        groups.push_back({count, gpu, std::make_shared<NodePlan>(build_node(node, gpus, nics))});
    }
    return groups;
}

/// On an InfiniBand fat tree adaptive routing is supposed to be set up: switches send every packet up the emptiest way,
/// and NCCL uses it there unless told otherwise (NCCL_IB_ADAPTIVE_ROUTING; not on RoCE). Evenly over all ways is what
/// comes of it, and costs no more to predict than one way; around failures one way is taken.
Routing choose_routing(const ClusterSpec& spec, const Fabric& fabric) {
    if (!spec.routing.empty()) return {routing_policy(spec.routing), spec.routing_seed};
    const bool sprays = fabric.sprays_alike() && fabric.trunks() > 0 && spec.failed.empty() &&
                        fabric.parts().adapter.name == hardware::infiniband_adapter.name;
    return {sprays ? RoutingPolicy::spray : RoutingPolicy::minimal, spec.routing_seed, false};
}

/// Chips by themselves: nothing inside a node can be chosen.
Cluster build_chips(const Design& design, const ClusterSpec& spec) {
    const Gpu gpu = choose_gpu(design, spec);
    if (gpu.name != design.gpu) {
        refuse("gpu", fmt::format("{} is not the chip of {}", gpu.name, design.preset.name),
               fmt::format("leave it out: the chip is {}", design.gpu));
    }
    if (spec.gpus_per_node > 1 || spec.nics_per_node > 1) {
        refuse(spec.gpus_per_node > 1 ? "gpus_per_node" : "nics_per_node",
               fmt::format("the chips of {} sit in no node", design.preset.name), "leave it out");
    }
    if (!spec.more_nodes.empty()) refuse("more_nodes", "a pod has one kind of chip", "leave it out");
    if (!spec.node_file.empty()) refuse("node_file", "the chips of a pod sit in no node", "leave it out");
    auto fabric = choose_fabric(design, spec, {1, choose_rate(design, spec, 0), 0});
    const std::uint32_t nodes = fabric->nodes();
    const Routing routing = choose_routing(spec, *fabric);
    return {std::string(design.preset.name),
            {{nodes, gpu, std::make_shared<NodePlan>(NodePlan::chip())}},
            std::move(fabric),
            routing};
}

/// The nodes of a file have as many GPUs and NICs as it says, and its NICs' rate unless the scenario says another.
Cluster build_from_file(const Design& design, const ClusterSpec& spec, const Gpu& gpu) {
    const bool counted = spec.gpus_per_node > 0 || spec.nics_per_node > 0;
    if (design.reference || counted || !spec.more_nodes.empty()) {
        refuse(design.reference ? "node_file"
               : counted        ? "nics_per_node"
                                : "more_nodes",
               "node_file says how the nodes are made",
               design.reference ? "use a preset such as dgx-a100" : "leave it out");
    }
    NcclNode node = read_nccl_xml(spec.node_file);
    const std::uint32_t nics = node.plan.nics();
    Design own = design;
    own.nic_bytes_per_second = node.nic_bytes_per_second;
    auto fabric = choose_fabric(own, spec, {nics, choose_rate(own, spec, 0), 0});
    const std::uint32_t nodes = fabric->nodes();
    const Routing routing = choose_routing(spec, *fabric);
    return {std::string(design.preset.name),
            {{nodes, gpu, std::make_shared<NodePlan>(std::move(node.plan))}},
            std::move(fabric),
            routing};
}

}  // namespace

Cluster build(const Design& of_any, const ClusterSpec& spec) {
    if (of_any.node.empty()) return build_chips(of_any, spec);
    const Gpu gpu = choose_gpu(of_any, spec);
    const Design design = with_nics_of(of_any, gpu.socket);
    if (!spec.node_file.empty()) return build_from_file(design, spec, gpu);
    const NodeSpec node = with_boards(choose_node(design, gpu), gpu);
    const std::uint32_t gpus = choose_gpus(design, spec, node), nics = choose_nics(design, spec, node, gpus);
    std::vector<NodeGroup> groups{{0, gpu, std::make_shared<NodePlan>(build_node(node, gpus, nics))}};
    std::uint32_t more = 0;
    for (const NodeGroup& group : more_nodes(design, spec, gpus, nics)) {
        more += group.nodes;
        groups.push_back(group);
    }
    const double rate = choose_rate(design, spec, node.nic_bytes_per_second);
    auto fabric = choose_fabric(design, spec, {nics, rate, more});
    const Routing routing = choose_routing(spec, *fabric);
    groups.front().nodes = fabric->nodes() - more;
    return {std::string(design.preset.name), std::move(groups), std::move(fabric), routing};
}

}  // namespace orrery::topology
