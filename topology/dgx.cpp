#include "topology/dgx.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.hpp"
#include "hardware/datasheets.hpp"

namespace orrery::topology {

using namespace hardware;

namespace {

constexpr double edr = gigabits(100), hdr = gigabits(200), ndr = gigabits(400), xdr = gigabits(800);
constexpr std::uint64_t GiB = std::uint64_t{1} << 30;

/// GiB and channels of two CPUs together, at so many MT/s of 8 bytes (JEDEC JESD79-4, JESD79-5).
constexpr HostMemory ddr(std::uint64_t gibibytes, int channels, double megatransfers) {
    return {gibibytes * GiB, channels * megatransfers * 1e6 * 8};
}

constexpr HostMemory grace = {36 * std::uint64_t{480} * 1'000'000'000, 18.4e12};
constexpr HostMemory graces_of_gh200 = {4 * std::uint64_t{120} * 1'000'000'000, 4 * 512e9};
constexpr HostMemory grace_of_gb300 = {std::uint64_t{17} * 1'000'000'000'000, 14e12};
constexpr double pcie3 = pcie3_bytes_per_second, pcie4 = pcie4_bytes_per_second, pcie5 = pcie5_bytes_per_second,
                 pcie6 = pcie6_bytes_per_second;

constexpr NodeSpec nodes[] = {
    // DGX-1 system architecture whitepaper WP-08437: P100 with 4, V100 with 6 NVLinks; 4 PCIe switches, 4 EDR NICs;
    // 512 GB of DDR4-2133 (two Xeon E5-2698 v4, 4 channels each).
    {"dgx-1p", "P100-SXM2-16GB", Socket::nvlink1, Wiring::cube_mesh, 8, 4, nvlink1_bytes_per_second, 2, 4, pcie3, pcie3,
     4, edr, ddr(512, 8, 2133)},
    {"dgx-1v", "V100-SXM2-32GB", Socket::nvlink2, Wiring::cube_mesh, 8, 6, nvlink2_bytes_per_second, 2, 4, pcie3, pcie3,
     4, edr, ddr(512, 8, 2133)},
    // DGX-2 user guide: 12 NVSwitches, 8 EDR NICs; 1.5 TB (two Xeon 8168, 6 channels of DDR4-2666 each). A second level
    // of PCIe switches, by which four GPUs share a link to a CPU, is left out.
    {"dgx-2", "V100-SXM3-32GB", Socket::nvlink2, Wiring::two_boards, 16, 6, nvlink2_bytes_per_second, 2, 8, pcie3,
     pcie3, 8, edr, ddr(1536, 12, 2666)},
    // DGX A100 user guide: 6 NVSwitches, 4 PCIe Gen4 switches with 2 GPUs and 2 HDR NICs each; 2 TB (two EPYC
    // 7742, 8 channels of DDR4-3200 each).
    {"dgx-a100", "A100-SXM4-80GB", Socket::nvlink3, Wiring::nvswitch, 8, 12, nvlink3_bytes_per_second, 2, 4, pcie4,
     pcie4, 8, hdr, ddr(2048, 16, 3200)},
    // DGX H100 user guide: 4 NVSwitches, 8 NDR NICs on PCIe Gen5; 2 TB (two Xeon 8480C, 8 channels of DDR5-4800 each).
    {"dgx-h100", "H100-SXM5-80GB", Socket::nvlink4, Wiring::nvswitch, 8, 18, nvlink4_bytes_per_second, 2, 4, pcie5,
     pcie5, 8, ndr, ddr(2048, 16, 4800)},
    // HGX B200 datasheet: 2 NVSwitch chips, 8 NICs of 400 Gb/s. Host of the DGX B200 (user guide): 2 TB (two Xeon
    // 8570, 8 channels of DDR5-5600 each).
    {"hgx-b200", "B200", Socket::nvlink5, Wiring::nvswitch, 8, 18, nvlink5_bytes_per_second, 2, 4, pcie5, pcie5, 8, ndr,
     ddr(2048, 16, 5600)},
    // HGX A100 4-GPU: every pair joined by 4 NVLinks, one HDR NIC a GPU (JUWELS Booster: Kesselheim et al. 2021);
    // 512 GB (two EPYC 7402, 8 channels of DDR4-3200 each).
    {"hgx-a100-4", "A100-SXM4-40GB", Socket::nvlink3, Wiring::all_to_all, 4, 12, nvlink3_bytes_per_second, 2, 4, pcie4,
     pcie4, 4, hdr, ddr(512, 16, 3200)},
    // HGX H100 4-GPU: every pair joined by 6 NVLinks, one NDR NIC a GPU (Lenovo SD665-N V3); 768 GB (two EPYC 9334, 12
    // channels of DDR5-4800 each: SURF's Snellius).
    {"hgx-h100-4", "H100-SXM5-80GB", Socket::nvlink4, Wiring::all_to_all, 4, 18, nvlink4_bytes_per_second, 2, 4, pcie5,
     pcie5, 4, ndr, ddr(768, 24, 4800)},
    // Four GH200, every pair of GPUs joined by 6 NVLinks, each Grace with 120 GB of LPDDR5X at 512 GB/s and a NIC of
    // 200 Gb/s (JUPITER: configuration page of the Juelich Supercomputing Centre). Links between the four Graces are
    // left out: what a step sends among GPUs goes by NVLink.
    {"gh200-4", "GH200-96GB", Socket::grace_hopper, Wiring::all_to_all, 4, 18, nvlink4_bytes_per_second, 4, 0,
     nvlink_c2c_bytes_per_second, pcie5, 4, hdr, graces_of_gh200},
    // Four V100, every pair joined by 2 NVLinks, 4 NICs of 100 Gb/s (Jean Zay: IDRIS documentation); 192 GB (two
    // Xeon 6248, 6 channels of DDR4-2933 each).
    {"v100-4", "V100-SXM2-32GB", Socket::nvlink2, Wiring::all_to_all, 4, 6, nvlink2_bytes_per_second, 2, 2, pcie3,
     pcie3, 4, edr, ddr(192, 12, 2933)},
    // GB200 NVL72: 18 trays of 2 Grace CPUs and 4 GPUs, 18 NVSwitch chips, a ConnectX-7 for each GPU; 36 x 480 GB of
    // LPDDR5X, 18.4 TB/s (datasheet).
    {"gb200-nvl72", "GB200", Socket::grace, Wiring::nvswitch, 72, 18, nvlink5_bytes_per_second, 36, 0,
     nvlink_c2c_bytes_per_second, pcie5, 72, ndr, grace},
    // GB300 NVL72: the same rack with a ConnectX-8 for each GPU: 800 Gb/s, on PCIe Gen6; 17 TB of LPDDR5X, 14 TB/s
    // (datasheet).
    {"gb300-nvl72", "GB300", Socket::grace, Wiring::nvswitch, 72, 18, nvlink5_bytes_per_second, 36, 0,
     nvlink_c2c_bytes_per_second, pcie6, 72, xdr, grace_of_gb300},
    // A host without GPUs, of which each core is a device: AMD EPYC 7763 product page, 64 cores, DDR4-3200.
    {"cpu-host", "CPU-core", Socket::core, Wiring::pcie_only, 64, 0, 0, 1, 0, ddr4_bytes_per_second,
     ddr4_bytes_per_second, 1, gigabits(1)},
    // Four MI250X of two dies each, a NIC of 200 Gb/s a module, the processor on links of 36 GB/s a die (Frontier User
    // Guide, OLCF); 512 GB (an EPYC 7A53, 8 channels of DDR4-3200). NICs, which sit on the modules, are drawn on the
    // processor.
    {"mi250x-8", "MI250X", Socket::oam_mi250, Wiring::die_pairs, 8, 6, xgmi2_bytes_per_second, 1, 0,
     xgmi_host_bytes_per_second, pcie4, 4, hdr, ddr(512, 8, 3200)},
    // Eight modules, every pair joined by an xGMI link, on PCIe Gen5 (AMD Instinct MI300X platform data sheet), a NIC
    // of 400 Gb/s each (ND MI300X v5 and BM.GPU.MI300X.8 have as many). Host memory of no server in particular: two
    // EPYC 9004 with 12 channels of DDR5-4800 each.
    {"mi300x-8", "MI300X", Socket::oam_mi300, Wiring::all_to_all, 8, 7, xgmi3_bytes_per_second, 2, 4, pcie5, pcie5, 8,
     ndr, ddr(2304, 24, 4800)},
    // The same with links of the next generation; two EPYC 9575F, 12 channels of DDR5-6000 each.
    {"mi355x-8", "MI355X", Socket::oam_mi350, Wiring::all_to_all, 8, 7, xgmi4_bytes_per_second, 2, 4, pcie5, pcie5, 8,
     ndr, ddr(3072, 24, 6000)},
    // A PCIe server without NVLink: 8 dual-slot boards on 4 switches, 2 sockets (OVX L40S reference: 2 GPUs a NIC).
    {"pcie-8", "L40S", Socket::pcie, Wiring::pcie_only, 8, 0, 0, 2, 4, pcie4, pcie4, 4, hdr},
    // Its successor on Gen5, 400 Gb/s for two GPUs (NVIDIA Enterprise Reference Architecture 2-8-5-200: 2 processors, 8
    // GPUs, 5 NICs, of which one is storage's, 200 Gb/s a GPU).
    {"pcie5-8", "RTX-PRO-6000", Socket::pcie, Wiring::pcie_only, 8, 0, 0, 2, 4, pcie5, pcie5, 4, ndr},
};

/// So many links of a GPU as one.
Link between_gpus(const NodeSpec& spec, std::uint32_t cables, double seconds) {
    const LinkKind kind = vendor(spec.socket) == Vendor::amd ? LinkKind::xgmi : LinkKind::nvlink;
    return {kind, spec.nvlink_bytes_per_second * cables, seconds, cables, 0};
}

/// NVLinks between each pair of the hybrid cube mesh of a DGX-1V, as `nvidia-smi topo -m` prints it; P100 has one each.
constexpr std::array<std::array<std::uint8_t, 8>, 8> cube_mesh_links = {{{0, 1, 1, 2, 2, 0, 0, 0},
                                                                         {1, 0, 2, 1, 0, 2, 0, 0},
                                                                         {1, 2, 0, 2, 0, 0, 1, 0},
                                                                         {2, 1, 2, 0, 0, 0, 0, 1},
                                                                         {2, 0, 0, 0, 0, 1, 1, 2},
                                                                         {0, 2, 0, 0, 1, 0, 2, 1},
                                                                         {0, 0, 1, 0, 1, 2, 0, 2},
                                                                         {0, 0, 0, 1, 2, 1, 2, 0}}};

/// xGMI links between each pair of the eight dies of four MI250X: pairs of RCCL's rome_model_52 (src/graph/
/// rome_models.cc, which counts a pair's links as one); four links between the dies of a module, two between modules
/// that one pair joins, else one, as a dump of such a node has them (tools/topo_expl/models/topo_8p1h.xml).
constexpr std::array<std::array<std::uint8_t, 8>, 8> die_pairs = {{{0, 4, 1, 0, 0, 0, 2, 0},
                                                                   {4, 0, 0, 1, 0, 1, 0, 0},
                                                                   {1, 0, 0, 4, 2, 0, 0, 0},
                                                                   {0, 1, 4, 0, 0, 0, 0, 1},
                                                                   {0, 0, 2, 0, 0, 4, 1, 0},
                                                                   {0, 1, 0, 0, 4, 0, 0, 1},
                                                                   {2, 0, 0, 0, 1, 0, 0, 4},
                                                                   {0, 0, 0, 1, 0, 1, 4, 0}}};

std::uint32_t direct_links(const NodeSpec& spec, std::uint32_t a, std::uint32_t b) {
    if (spec.wiring == Wiring::die_pairs) return die_pairs[a][b];
    if (spec.wiring != Wiring::cube_mesh) return spec.nvlinks / (spec.gpus - 1);
    return spec.socket == Socket::nvlink1 ? std::min<std::uint32_t>(cube_mesh_links[a][b], 1) : cube_mesh_links[a][b];
}

/// Direct links between the GPUs of a node.
void wire_mesh(const NodeSpec& spec, NodePlan& node) {
    for (std::uint32_t a = 0; a < node.gpus(); ++a) {
        for (std::uint32_t b = a + 1; b < node.gpus(); ++b) {
            const std::uint32_t cables = direct_links(spec, a, b);
            if (cables > 0) node.connect(a, b, between_gpus(spec, cables, nvlink_step_seconds));
        }
    }
}

/// GPUs on one or two planes of NVSwitches. Two planes are joined by as many links as their GPUs have.
void wire_nvswitch(const NodeSpec& spec, NodePlan& node) {
    const std::uint32_t boards = spec.wiring == Wiring::two_boards ? 2 : 1, on_board = spec.gpus / boards;
    std::vector<std::uint32_t> plane;
    for (std::uint32_t first = 0; first < node.gpus(); first += on_board)
        plane.push_back(node.add(VertexKind::nvswitch));
    for (std::uint32_t gpu = 0; gpu < node.gpus(); ++gpu) {
        node.connect(gpu, plane[gpu / on_board], between_gpus(spec, spec.nvlinks, nvlink_step_seconds / 2));
    }
    if (plane.size() == 2) {
        node.connect(plane[0], plane[1], between_gpus(spec, spec.nvlinks * on_board, nvlink_step_seconds / 2));
    }
}

/// PCIe tree: GPUs and NICs spread evenly over the switches, switches over the sockets.
void wire_host(const NodeSpec& spec, NodePlan& node) {
    const auto host_link = [](double rate) { return Link{LinkKind::pcie, rate, pcie_link_seconds, 1, 0}; };
    std::vector<std::uint32_t> cpus, attach;
    // A node of which only the first GPUs are used keeps the CPUs (with their memory) and switches that those sit on.
    const auto share = [&](std::uint32_t all) { return (all * node.gpus() + spec.gpus - 1) / spec.gpus; };
    const std::uint32_t cpu_count = share(spec.cpus), switch_count = share(spec.pcie_switches);
    const HostMemory& memory = spec.host_memory;
    node.set_host_memory({memory.bytes / spec.cpus * cpu_count, memory.bytes_per_second / spec.cpus * cpu_count});
    for (std::uint32_t i = 0; i < cpu_count; ++i) cpus.push_back(node.add(VertexKind::cpu));
    if (cpu_count == 2) node.connect(cpus[0], cpus[1], host_link(socket_bytes_per_second));
    for (std::uint32_t i = 0; i < switch_count; ++i) {
        attach.push_back(node.add(VertexKind::pcie_switch));
        node.connect(attach.back(), cpus[i * cpu_count / switch_count], host_link(spec.gpu_host_bytes_per_second));
    }
    if (attach.empty()) attach = cpus;
    const auto count = static_cast<std::uint32_t>(attach.size());
    for (std::uint32_t gpu = 0; gpu < node.gpus(); ++gpu) {
        node.connect(gpu, attach[gpu * count / node.gpus()], host_link(spec.gpu_host_bytes_per_second));
    }
    for (std::uint32_t nic = 0; nic < node.nics(); ++nic) {
        node.connect(node.nic_vertex(nic), attach[nic * count / node.nics()],
                     host_link(spec.nic_host_bytes_per_second));
    }
}

}  // namespace

const NodeSpec& find_node(std::string_view name) {
    const auto node = std::ranges::find(nodes, name, &NodeSpec::name);
    if (node == std::end(nodes)) throw Error("unknown node kind \"" + std::string(name) + "\"");
    return *node;
}

const NodeSpec& usual_node(Socket socket) { return *std::ranges::find(nodes, socket, &NodeSpec::socket); }

NodePlan build_node(const NodeSpec& spec, std::uint32_t gpus, std::uint32_t nics) {
    NodePlan node(gpus, nics);
    switch (spec.wiring) {
        case Wiring::cube_mesh:
        case Wiring::all_to_all:
        case Wiring::die_pairs: wire_mesh(spec, node); break;
        case Wiring::nvswitch:
        case Wiring::two_boards: wire_nvswitch(spec, node); break;
        case Wiring::pcie_only: break;
    }
    wire_host(spec, node);
    node.finish();
    return node;
}

}  // namespace orrery::topology
