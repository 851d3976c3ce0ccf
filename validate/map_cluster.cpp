// Which machine a row ran on: its GPU, the node it is usually built into, and the network the row prints.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <regex>

#include "base/error.hpp"
#include "base/text.hpp"
#include "hardware/datasheets.hpp"
#include "topology/ethernet.hpp"
#include "topology/tpu.hpp"
#include "validate/map_row.hpp"
#include "validate/network_text.hpp"

namespace orrery::validate {

namespace {

using topology::ClusterSpec;
using topology::Gpu;

constexpr std::string_view gpu_words[] = {"gb300", "gb200", "b300", "b200", "h200",
                                          "h100",  "a100",  "v100", "p100", "l40s"};

/// "A100-SXM4-80GB", "a100 40GB" -> the catalog's; nullptr when there is none of that memory.
const Gpu* catalog_gpu(const std::string& word, const std::string& words) {
    static const std::regex memory(R"((\d{2,3})\s*gi?b)");
    std::smatch found;
    const bool sized = std::regex_search(words, found, memory);
    for (const Gpu& gpu : hardware::gpus()) {
        const std::string name = lower(gpu.name);
        const bool same_carrier = contains(words, "sxm3") == contains(name, "sxm3");
        if (sized && same_carrier && begins_word(name, word) && contains(name, found[1].str() + "gb")) return &gpu;
    }
    try {
        return &topology::find_gpu(word);
    } catch (const Error&) {
        return nullptr;
    }
}

/// "TPU v5e"; nullptr for another chip.
const Gpu* catalog_chip(std::string words) {
    std::ranges::replace(words, ' ', '-');
    const Gpu* gpu = hardware::find(words);
    return gpu != nullptr && hardware::is_chip(gpu->socket) ? gpu : nullptr;
}

/// "A100X", "V100S", "H100 NVL", "H100 CNX", a slice of one: other boards than those that nodes are built of.
bool other_board(const std::string& words, std::string_view word) {
    static const std::regex mark(R"(\b(nvl|cnx|mig|vgpu)\b)");
    const std::size_t behind = words.find(word) + word.size();
    const bool longer = behind < words.size() && std::isalnum(static_cast<unsigned char>(words[behind])) != 0;
    return longer || std::regex_search(words, mark);
}

/// GPUs of one node: what the row's counts say, else the vendor's node.
std::uint32_t per_node(const Row& row, std::uint32_t gpus, std::uint32_t reference) {
    const auto nodes = row.count("nodes");
    if (nodes && *nodes > 1 && gpus % *nodes == 0) return gpus / *nodes;
    if (nodes && *nodes == 1 && gpus > reference) return gpus;
    // "8xV100", "4x V100-SXM2", "16 GPUs", "8-GPU", "8 V100"; not the 2 of "DGX-2 V100".
    static const std::regex printed(R"((?:^|[\s(])(\d{1,2})\s*(?:x|-?gpu|[a-z]+\d00\b))");
    std::smatch found;
    const std::string node = row.words("node");
    if (std::regex_search(node, found, printed) && found[1].str() != "0") {
        const auto count = static_cast<std::uint32_t>(std::stoul(found[1].str()));
        return gpus <= count || gpus % count == 0 ? count : reference;
    }
    return reference;
}

struct Class {
    std::string_view gpu;       ///< the GPU's name begins so
    std::uint32_t per_node;     ///< GPUs of one node
    std::string_view preset;    ///< of topology::presets()
    std::string_view ethernet;  ///< the preset on RoCE, EFA or TCP
    std::uint32_t nics;         ///< the node's, for a rate that is printed for the whole node
};
/// The vendor's node of each GPU first; other sizes behind it.
constexpr Class classes[] = {
    {"v100", 8, "dgx-1v", "ethernet", 4},        {"v100", 16, "dgx-2", "dgx-2", 8},
    {"v100", 4, "v100-4", "ethernet", 4},        {"p100", 8, "ethernet", "ethernet", 1},
    {"a100", 8, "dgx-a100", "ethernet", 8},      {"a100", 4, "hgx-a100-4", "ethernet", 4},
    {"h100", 8, "dgx-h100", "hgx-h100", 8},      {"h200", 8, "hgx-h200", "hgx-h200", 8},
    {"b200", 8, "hgx-b200", "hgx-b200", 8},      {"b300", 8, "hgx-b200", "hgx-b200", 8},
    {"l40s", 8, "pcie-l40s", "pcie-l40s", 4},    {"gb300", 72, "gb300-nvl72", "gb300-nvl72", 4},
    {"gb", 72, "gb200-nvl72", "gb200-nvl72", 4},
};

const Class& class_of(const Gpu& gpu, std::uint32_t size) {
    const std::string name = lower(gpu.name);
    const Class* first = nullptr;
    for (const Class& c : classes) {
        if (!name.starts_with(c.gpu)) continue;
        if (c.per_node == size) return c;
        if (first == nullptr) first = &c;
    }
    if (first == nullptr) throw Skip(fmt::format("gpu {} has no reference node", gpu.name));
    return *first;
}

/// NICs that cannot be shared evenly among the node's GPUs are counted as fewer of the same joint rate.
void set_nics(ClusterSpec& spec, const Nics& nics, const Class& node, std::uint32_t gpus_per_node) {
    if (!nics.stated()) return;
    const std::uint32_t printed = nics.per_gpu ? gpus_per_node : nics.count != 0 ? nics.count : node.nics;
    const double joint = nics.total ? nics.bytes_per_second : nics.bytes_per_second * printed;
    std::uint32_t count = std::min(printed, gpus_per_node);
    while (gpus_per_node % count != 0) --count;
    spec.nics_per_node = count;
    spec.nic_bytes_per_second = joint / count;
}

/// A rack of 72 of which jobs use 64: every published size of more than one rack is a multiple of that.
ClusterSpec racks(std::uint32_t gpus, const Gpu& gpu) {
    ClusterSpec spec{.preset = std::string(class_of(gpu, 72).preset), .nodes = 1, .gpu = gpu.name};
    if (gpus <= 72) return spec;
    const bool halves = gpus % 64 == 0;
    spec.gpus_per_node = halves ? 64 : 72;
    spec.nics_per_node = spec.gpus_per_node;  // one beside each GPU
    spec.nodes = (gpus + spec.gpus_per_node - 1) / spec.gpus_per_node;
    return spec;
}

/// Slices of a pod. On a 3-D torus they are made of cubes of 4 x 4 x 4, as even as they can be (Google Cloud
/// documentation, TPU v4 and v5p: topologies). Tensor ranks, which exchange most, take a whole dimension of their size
/// where there is one (JAX, mesh_utils.create_device_mesh): the first, along which ranks are numbered here.
ClusterSpec slices(const Row& row, const Gpu& chip, std::uint32_t chips) {
    const std::uint32_t count = std::max(1U, row.count("nodes").value_or(1)), each = chips / count;
    ClusterSpec spec{.preset = chip.profile, .nodes = chips, .gpu = chip.name};
    if (count > 1) {
        if (chips % count != 0) throw Skip("slices of several sizes");
        spec.fabric.kind = "multislice";
        spec.fabric.groups = count;
    }
    const std::uint32_t dimensions = topology::torus_dimensions(chip.name);
    const std::uint32_t side = dimensions == 3 && each % 64 == 0 ? 4 : 1;  // of what slices are made of
    std::vector<std::uint32_t> shape = topology::even_shape(each / (side * side * side), dimensions);
    for (std::uint32_t& extent : shape) extent *= side;
    const std::uint32_t tensor = row.count("tp").value_or(1);
    std::ranges::stable_partition(shape, [&](std::uint32_t extent) { return extent == tensor; });
    spec.fabric.shape = fmt::format("{}", fmt::join(shape, "x"));
    return spec;
}

std::string preset_of(Fabric fabric, const Class& kind) {
    switch (fabric) {
        case Fabric::ethernet: return std::string(kind.ethernet);
        case Fabric::efa: return "efa";
        case Fabric::infiniband:
        case Fabric::omni_path:
        case Fabric::not_stated: break;
    }
    return std::string(kind.preset);
}

/// Of the adapter that the preset has for it.
double payload_share(Fabric fabric) {
    switch (fabric) {
        case Fabric::ethernet: return hardware::roce_adapter.payload_share;
        case Fabric::efa: return hardware::efa_adapter.payload_share;
        case Fabric::omni_path: return hardware::omni_path_adapter.payload_share;
        case Fabric::infiniband:
        case Fabric::not_stated: break;
    }
    return hardware::infiniband_adapter.payload_share;
}

/// A rate that was measured goes before the line's: the NICs are given what their payload then reaches.
void set_network(ClusterSpec& spec, const Row& row, const Class& kind, std::uint32_t size) {
    spec.preset = kind.preset;
    if (spec.nodes == 1) return;
    const NetworkText network = read_network(row.text("network").value_or(""));
    spec.preset = preset_of(network.fabric, kind);
    // Trees of InfiniBand spray packets; where a GPU's own preset is one of RoCE, it does not know.
    if (network.fabric == Fabric::infiniband && kind.preset == kind.ethernet) spec.routing = "spray";
    if (const auto nccl = version_from(network.nccl); nccl && *nccl >= hardware::first_nccl)
        spec.nccl_version = network.nccl;
    if (network.fabric == Fabric::efa) spec.aws_ofi_nccl_version = network.aws_ofi_nccl;
    Nics nics = network.nics;
    if (!nics.stated()) nics = nics_of_generation(row.words("node"));
    if (!nics.stated() && network.fabric == Fabric::efa && !topology::amazon_nics(topology::find_gpu(spec.gpu).socket))
        throw Skip("NICs of a node with EFA are not published");
    set_nics(spec, nics, kind, size);
    if (network.measured_bytes_per_second == 0) return;
    if (spec.nics_per_node == 0) spec.nics_per_node = std::gcd(kind.nics, size);
    spec.nic_bytes_per_second = network.measured_bytes_per_second / spec.nics_per_node / payload_share(network.fabric);
}

}  // namespace

const topology::Gpu& map_gpu(const Row& row, const HasProfile& has_profile) {
    const std::string words = row.words("gpu");
    if (words.empty() || words == "any" || words.starts_with("not stated")) throw Skip("GPU not published");
    const Gpu* found = catalog_chip(words);
    std::size_t kinds = 0;
    for (const std::string_view word : gpu_words) {
        if (!begins_word(words, word)) continue;
        if (found == nullptr && !other_board(words, word)) found = catalog_gpu(std::string(word), words);
        ++kinds;
    }
    if (kinds > 1) throw Skip("GPUs of several kinds are not supported");
    const bool pcie = contains(words, "pcie") || contains(words, "pci-e");
    const bool socketed = found != nullptr && !lower(found->name).starts_with("l40");
    if (found == nullptr || (pcie && socketed) || !has_profile(found->profile))
        throw Skip(fmt::format("gpu {} has no profile",
                               found != nullptr && !pcie ? found->name : label(row.text("gpu").value_or(""))));
    return *found;
}

topology::ClusterSpec map_cluster(const Row& row, const topology::Gpu& gpu, std::uint32_t gpus) {
    if (lower(gpu.name).starts_with("gb")) return racks(gpus, gpu);
    if (hardware::is_chip(gpu.socket)) return slices(row, gpu, gpus);
    const std::string node = row.words("node"), network = row.words("network");
    const std::uint32_t reference = contains(node, "dgx-2") ? 16 : class_of(gpu, 0).per_node;
    const std::uint32_t size = per_node(row, gpus, reference);
    const Class& kind = class_of(gpu, size);
    ClusterSpec spec;
    spec.gpu = kind.preset == "dgx-2" ? "V100-SXM3-32GB" : gpu.name;
    spec.nodes = (gpus + size - 1) / size;
    spec.gpu_power_limit = row.number("power_limit_w").value_or(0);
    if (size != kind.per_node) spec.gpus_per_node = size;
    set_network(spec, row, kind, size);
    const bool superpod = contains(network + node, "selene") || contains(network + node, "superpod");
    if (superpod && spec.preset == "dgx-a100" && spec.gpus_per_node == 0) spec.preset = "superpod-a100";
    if (superpod && spec.preset == "dgx-h100" && spec.gpus_per_node == 0) spec.preset = "superpod-h100";
    return spec;
}

}  // namespace orrery::validate
