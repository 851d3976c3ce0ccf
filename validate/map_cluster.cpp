// Which machine a row ran on: its GPU, the node it is usually built into, and the network the row prints.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>

#include "base/error.hpp"
#include "validate/map_row.hpp"

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

/// What a reason calls a GPU: the row's text without its remarks in parentheses, printable ASCII only.
std::string gpu_label(const std::string& text) {
    std::string label;
    for (const char c : text.substr(0, std::min<std::size_t>(text.find('('), 40)))
        if (c >= ' ' && c <= '~') label += c;
    while (!label.empty() && label.back() == ' ') label.pop_back();
    return label;
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
    {"v100", 8, "dgx-1v", "ethernet", 4},     {"v100", 16, "dgx-2", "dgx-2", 8},
    {"v100", 4, "v100-4", "ethernet", 4},     {"p100", 8, "ethernet", "ethernet", 1},
    {"a100", 8, "dgx-a100", "ethernet", 8},   {"a100", 4, "hgx-a100-4", "ethernet", 4},
    {"h100", 8, "dgx-h100", "hgx-h100", 8},   {"h200", 8, "hgx-h200", "hgx-h200", 8},
    {"b200", 8, "hgx-b200", "hgx-b200", 8},   {"b300", 8, "hgx-b200", "hgx-b200", 8},
    {"l40s", 8, "pcie-l40s", "pcie-l40s", 4}, {"gb", 72, "gb200-nvl72", "gb200-nvl72", 4},
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

bool on_ethernet(const std::string& network) {
    for (const char* word : {"ethernet", "roce", "efa", "tcp"})
        if (contains(network, word)) return !contains(network, "infiniband");
    return false;
}

/// NICs that cannot be shared evenly among the node's GPUs are counted as fewer of the same joint rate.
void set_nics(ClusterSpec& spec, const Nics& nics, const Class& node, std::uint32_t gpus_per_node) {
    if (nics.bytes_per_second == 0) return;
    const std::uint32_t printed = nics.count != 0 ? nics.count : node.nics;
    const double joint = nics.total ? nics.bytes_per_second : nics.bytes_per_second * printed;
    std::uint32_t count = std::min(printed, gpus_per_node);
    while (gpus_per_node % count != 0) --count;
    spec.nics_per_node = count;
    spec.nic_bytes_per_second = joint / count;
}

/// A rack of 72 of which jobs use 64: every published size of more than one rack is a multiple of that.
ClusterSpec racks(std::uint32_t gpus, const Gpu& gpu) {
    ClusterSpec spec{.preset = "gb200-nvl72", .nodes = 1, .gpu = gpu.name};
    if (gpus <= 72) return spec;
    const bool halves = gpus % 64 == 0;
    spec.gpus_per_node = halves ? 64 : 72;
    spec.nics_per_node = spec.gpus_per_node;  // one beside each GPU
    spec.nodes = (gpus + spec.gpus_per_node - 1) / spec.gpus_per_node;
    return spec;
}

constexpr double gigabit = 1e9 / 8;  ///< bytes

// Digits of a cell; too many of them are no count and no rate, and read as not stated.
std::uint32_t count(const std::string& digits) {
    return digits.size() > 4 ? 0U : static_cast<std::uint32_t>(std::stoul(digits));
}
double rate(const std::string& digits) { return digits.size() > 9 ? 0.0 : std::stod(digits); }

/// "4x EDR IB", "8x NDR400": the InfiniBand Trade Association's rates of four lanes.
Nics by_generation(const std::string& words) {
    static const std::regex generation(R"((\d+)\s*x\s*(fdr|edr|hdr|ndr|xdr))");
    std::smatch m;
    if (!std::regex_search(words, m, generation)) return {};
    const std::string name = m[2];
    const double speed = name == "fdr" ? 56 : name == "edr" ? 100 : name == "hdr" ? 200 : name == "ndr" ? 400 : 800;
    return {count(m[1]), speed * gigabit, false};
}

}  // namespace

Nics parse_nics(const std::string& words) {
    // A rate is "200 gb/s", "400g", "1600 gbps"; "80gb" is memory.
    static const std::regex doubled(R"((\d+)\s*x\s*(\d+)\s*x\s*(\d+(?:\.\d+)?)\s*g(?:b/s|bps|bit|be|\b))");
    static const std::regex counted(R"((\d+)\s*x\s*(?:[a-z][\w-]*\s+){0,3}(\d+(?:\.\d+)?)\s*g(?:b/s|bps|bit|be|\b))");
    static const std::regex alone(R"((\d+(?:\.\d+)?)\s*(gb/s|gbps|gbit/s|gbe\b))");
    std::smatch m;
    if (std::regex_search(words, m, doubled)) return {count(m[1]), count(m[2]) * rate(m[3]) * gigabit, false};
    if (std::regex_search(words, m, counted)) return {count(m[1]), rate(m[2]) * gigabit, false};
    if (const Nics nics = by_generation(words); nics.count != 0) return nics;
    if (!std::regex_search(words, m, alone)) return {};
    const double speed = rate(m[1]);
    if (contains(words, "x?")) return {0, speed * gigabit, false};
    // A rate that one port has is one NIC; more than that is the sum over the node's NICs.
    return speed <= 400 ? Nics{1, speed * gigabit, false} : Nics{0, speed * gigabit, true};
}

const topology::Gpu& map_gpu(const Row& row, const HasProfile& has_profile) {
    const std::string words = row.words("gpu");
    if (words.empty() || words == "any" || words.starts_with("not stated")) throw Skip("GPU not published");
    const Gpu* found = nullptr;
    std::size_t kinds = 0;
    for (const std::string_view word : gpu_words) {
        if (!begins_word(words, word)) continue;
        if (found == nullptr) found = catalog_gpu(std::string(word), words);
        ++kinds;
    }
    if (kinds > 1) throw Skip("GPUs of several kinds are not supported");
    const bool pcie = contains(words, "pcie") || contains(words, "pci-e");
    const bool socketed = found != nullptr && !lower(found->name).starts_with("l40");
    if (found == nullptr || (pcie && socketed) || !has_profile(found->profile))
        throw Skip(fmt::format("gpu {} has no profile",
                               found != nullptr && !pcie ? found->name : gpu_label(row.text("gpu").value_or(""))));
    return *found;
}

topology::ClusterSpec map_cluster(const Row& row, const topology::Gpu& gpu, std::uint32_t gpus) {
    if (lower(gpu.name).starts_with("gb")) return racks(gpus, gpu);
    const std::string node = row.words("node"), network = row.words("network");
    const std::uint32_t reference = contains(node, "dgx-2") ? 16 : class_of(gpu, 0).per_node;
    const std::uint32_t size = per_node(row, gpus, reference);
    const Class& kind = class_of(gpu, size);
    ClusterSpec spec;
    spec.gpu = gpu.name;
    spec.nodes = (gpus + size - 1) / size;
    spec.preset = on_ethernet(network) ? kind.ethernet : kind.preset;
    if (contains(network, "efa")) spec.preset = "efa";
    if (size != kind.per_node) spec.gpus_per_node = size;
    if (spec.nodes == 1) return spec;
    Nics nics = parse_nics(network);
    if (nics.bytes_per_second == 0) nics = by_generation(node);
    set_nics(spec, nics, kind, size);
    const bool superpod = contains(network + node, "selene") || contains(network + node, "superpod");
    if (superpod && spec.preset == "dgx-a100" && spec.gpus_per_node == 0) spec.preset = "superpod-a100";
    if (superpod && spec.preset == "dgx-h100" && spec.gpus_per_node == 0) spec.preset = "superpod-h100";
    return spec;
}

}  // namespace orrery::validate
