// Rates and latencies of links, adapters and switches, each with its origin.
#pragma once

#include <cstdint>
#include <string_view>

#include "hardware/frames.hpp"

namespace orrery::hardware {

/// "400 Gb/s" of a datasheet as bytes per second.
constexpr double gigabits(double value) { return value * 1e9 / 8; }

// NVLink, one link in one direction.
inline constexpr double nvlink1_bytes_per_second = 20e9;  ///< Tesla P100 whitepaper (WP-08019): 40 GB/s bidirectional
inline constexpr double nvlink2_bytes_per_second = 25e9;  ///< Tesla V100 whitepaper (WP-08608): 6 links, 300 GB/s
inline constexpr double nvlink3_bytes_per_second = 25e9;  ///< A100 whitepaper: 12 links, 600 GB/s
inline constexpr double nvlink4_bytes_per_second = 25e9;  ///< H100 whitepaper: 18 links, 900 GB/s
inline constexpr double nvlink5_bytes_per_second = 50e9;  ///< Blackwell brief: 18 links, 1.8 TB/s
inline constexpr double nvlink_c2c_bytes_per_second = 450e9;  ///< GB200 datasheet: Grace to GPU, 900 GB/s bidirectional

// xGMI, a link of 16 lanes between two of AMD's GPUs in one direction: CDNA 2 white paper (MI250X, 25 GT/s); data
// sheets of the MI300X (7 links of 128 GB/s in both directions) and the MI355X (7 of 153.6). Between an MI250X's die
// and its processor: Frontier User Guide, 36 + 36 GB/s.
inline constexpr double xgmi2_bytes_per_second = 50e9, xgmi3_bytes_per_second = 64e9, xgmi4_bytes_per_second = 76.8e9,
                        xgmi_host_bytes_per_second = 36e9;

// Inter-chip interconnect of a TPU, one link in one direction: Jouppi et al., "TPU v4", ISCA 2023, table 4.
inline constexpr double tpu_v3_link_bytes_per_second = 70e9;
inline constexpr double tpu_v4_link_bytes_per_second = 50e9;
/// Google Cloud documentation, TPU v5e: 400 GB/s a chip over four links, both directions together.
inline constexpr double tpu_v5e_link_bytes_per_second = 400e9 / 4 / 2;
/// Google Cloud documentation, TPU v5p: 4,800 Gb/s a chip over six links.
inline constexpr double tpu_v5p_link_bytes_per_second = gigabits(4800) / 6;
/// Google Cloud documentation, TPU v6e and TPU7x: 800 GB/s a chip over four links and 1,200 over six, both directions
/// together.
inline constexpr double tpu_v6e_link_bytes_per_second = 800e9 / 4 / 2, tpu7x_link_bytes_per_second = 1200e9 / 6 / 2;
/// A TPU host's port of the data centre's network: two NICs of 100 Gb/s (Google Cloud documentation, TPU v5e; How to
/// Scale Your Model, part 2: typically 25 GB/s a host), and a chip's way to it, PCIe (the same: 15 GB/s a chip).
inline constexpr double tpu_host_bytes_per_second = gigabits(200), tpu_pcie_bytes_per_second = 15e9;
/// The same: 32 GB/s of a TPU v6e; taken for a TPU7x, of which none is published.
inline constexpr double tpu_v6e_pcie_bytes_per_second = 32e9;

// PCIe x16 in one direction: GT/s x 16 lanes x 128/130 (PCI-SIG base specifications 3.0, 4.0, 5.0).
inline constexpr double pcie3_bytes_per_second = 8e9 * 16 / 8 * 128 / 130;
inline constexpr double pcie4_bytes_per_second = 2 * pcie3_bytes_per_second;
inline constexpr double pcie5_bytes_per_second = 4 * pcie3_bytes_per_second;
/// PCIe 6.0 moves flits of 256 bytes, of which 236 are packets, at 64 GT/s (PCI-SIG, PCI Express 6.0).
inline constexpr double pcie6_bytes_per_second = 64e9 * 16 / 8 * 236 / 256;

/// Share of such a link's rate that a copy between a GPU and pinned host memory reaches, as nvbandwidth measured it:
/// 12.4 of 15.8 GB/s (its README, host_to_device_memcpy_ce), 24.8 of 31.5 (A100-SXM4, NVIDIA developer forum 352186),
/// 55.6 of 63.0 (NVIDIA's blog on NVbandwidth, the same test). Links that are wider still are taken for as good as the
/// last.
constexpr double host_copy_share(double bytes_per_second) {
    return bytes_per_second > 1.5 * pcie4_bytes_per_second ? 0.883 : 0.786;
}

/// Share of the host memory's rate that Adam on its cores reaches: 10 billion parameters in 2.57 s, of 30 bytes each
/// (PointwiseKind::adam), on the 256 GB/s of a DGX-2 (Ren et al. 2021, arXiv:2101.06840, table 4; two Xeon 8168 with 12
/// channels of DDR4-2666). Smaller models lie between 0.39 and 0.53. PyTorch's own takes over five times as long.
inline constexpr double host_adam_share = 30.0 * 10e9 / 2.57 / (12 * 2.666e9 * 8);

/// Bytes over those of the update where PyTorch's operators stand around it, as in DeepSpeed (runtime/zero/stage3.py):
/// unscale_and_clip_grads multiplies fp32 gradients where they are, 8 bytes a parameter, and masters are cast on the
/// host as they are copied to 16-bit weights, 6 (aten/src/ATen/native/cuda/Copy.cu: "type conversions are performed on
/// the CPU for CPU-GPU copies"). Orrery's own does all in one pass.
inline constexpr double host_adam_passes = (30.0 + 8 + 6) / 30;

/// One channel of DDR4-3200: 3,200 MT/s of 8 bytes (JEDEC JESD79-4).
inline constexpr double ddr4_bytes_per_second = 3.2e9 * 8;

/// CPU socket to CPU socket: two UPI links of 10.4 GT/s, 2 bytes each (Xeon Scalable, first generation).
inline constexpr double socket_bytes_per_second = 2 * 10.4e9 * 2;

/// GPU to GPU over NVLink, directly or through an NVSwitch: NCCL's table of hardware latencies (src/graph/tuning.cc,
/// hwLat, NVLINK, ring LL: 0.6 us a step). Through a switch each of the two links carries half of it.
inline constexpr double nvlink_step_seconds = 0.6e-6;

/// One PCIe link. GPU to GPU through one PCIe switch (two links) takes 1.0 us (the same table, PCI, ring LL).
inline constexpr double pcie_link_seconds = 0.5e-6;

/// Light in fibre or copper, 5 ns a metre; lengths as a rack row, a hall row and a hall are built.
inline constexpr double cable_seconds_per_metre = 5e-9;
inline constexpr double nic_cable_metres = 5, spine_cable_metres = 30, core_cable_metres = 50;
/// Neighbours of a torus are laid out in the same or the next rack.
inline constexpr double torus_cable_metres = 2;

/// A NIC: what a message pays once for the two of them together, beside PCIe, cables and switches; and the share of its
/// line rate that NCCL's payload reaches (frames.hpp), where no profile has measured it (network_efficiency).
struct Adapter {
    std::string_view name;
    double send_receive_seconds;
    double payload_share;
};
/// ConnectX-6 VPI product brief: "sub 0.6 usec" RDMA latency. With four PCIe links and one switch a message from GPU
/// to GPU takes 2.8 us, beside NCCL's 2.7 us (tuning.cc, hwLat, NET, ring LL).
inline constexpr Adapter infiniband_adapter{"InfiniBand", 0.6e-6, nccl_share* infiniband_frame_share};
/// ConnectX-6 EN product brief: "sub 0.8usec latency".
inline constexpr Adapter roce_adapter{"RoCE", 0.8e-6, nccl_share* roce_frame_share};
/// Omni-Path under NCCL, which drives it by verbs: 54.9 of 400 Gb/s, bus bandwidth of all_reduces of 4 GB among 16
/// nodes of four 100 Gb/s adapters on Jean Zay (bigscience-workshop/bigscience, experiments/bandwidth: "an issue with
/// nccl that doesn't fully utilize Intel OPA full bandwidth"; 84.6 among 4 nodes, 40.5 from A100). No score counts
/// these rows.
inline constexpr double omni_path_share = 54.9 / 400;
/// No latency is published for the Omni-Path adapter by itself; taken to be that of RoCE.
inline constexpr Adapter omni_path_adapter{"Omni-Path", roce_adapter.send_receive_seconds, omni_path_share};

/// Elastic Fabric Adapter: what Amazon's NCCL plugin reckons with for a message between nodes (aws-ofi-nccl,
/// include/nccl_ofi_param.h, OFI_NCCL_TUNER_NET_LATENCY: 20 us). Its packets (SRD) are not published; taken to be as
/// those of RoCE.
inline constexpr Adapter efa_adapter{"EFA", 20e-6, roce_adapter.payload_share};

/// HPE Slingshot 11. Payload: 92.7 of 100 GB/s, bus bandwidth of all_reduces and all_gathers of 4 GB among 4 nodes of
/// eight MI250X dies (RCCL, issue 1490). No latency is published for the adapter by itself; taken to be that of RoCE.
inline constexpr Adapter slingshot_adapter{"Slingshot", roce_adapter.send_receive_seconds, 92.7 / 100};

/// A chip with its own links has no adapter to pay for. Its payload: an all-gather of 33.6 MB along four TPU v5e in a
/// row, without a way round the end, takes 680 us, and 8 us where it is small, so that the farthest three quarters of
/// it cross the last link at 37.5 of 50 GB/s (How to Scale Your Model, part 3, case 2: profiles of both).
inline constexpr Adapter chip_adapter{"on chip", 0, 0.75 * 33.6e6 / (680e-6 - 8e-6) / tpu_v5e_link_bytes_per_second};
/// The same small one: three hops, one after another.
inline constexpr double chip_hop_seconds = 8e-6 / 3;

struct Switch {
    std::string_view name;
    std::uint32_t ports;
    double seconds;  ///< port to port
};
inline constexpr Switch switch_edr{"SB7800 EDR", 36, 90e-9};   ///< SB7800 brief: 36 ports, 90 ns
inline constexpr Switch switch_hdr{"QM8700 HDR", 40, 130e-9};  ///< QM8700 brief: 40 ports, 130 ns
/// QM9700 brief: 64 ports of 400 Gb/s; no latency is published, so that of the generation before it is used.
inline constexpr Switch switch_ndr{"QM9700 NDR", 64, 130e-9};
/// Quantum-X800 Q3400-RA datasheet: 144 ports of 800 Gb/s; no latency is published either.
inline constexpr Switch switch_xdr{"Q3400 XDR", 144, 130e-9};
/// Omni-Path Edge Switch 100 brief: 48 ports, 100 to 110 ns.
inline constexpr Switch switch_opa{"Omni-Path 100", 48, 110e-9};
/// Slingshot's Rosetta: 64 ports of 200 Gb/s, 350 ns (De Sensi et al., SC 2020, section II-A).
inline constexpr Switch switch_rosetta{"Rosetta", 64, 350e-9};
/// SN5600 brief: 64 ports of 800 Gb/s, used as 128 of 400 Gb/s. No latency is published; Ethernet switches of this
/// size forward in 0.6 to 1 us: the lower end, for cut-through.
inline constexpr Switch switch_spectrum4{"SN5600 400GbE", 128, 0.6e-6};
/// Any 64-port top-of-rack switch: the middle of the same range.
inline constexpr Switch switch_tor{"64-port Ethernet", 64, 0.8e-6};

/// The router on a TPU chip. No latency is published; taken to be that of an InfiniBand switch of its time.
inline constexpr Switch router_tpu{"TPU router", 6, switch_hdr.seconds};

}  // namespace orrery::hardware
