// Which share of a network's line rate carries payload: headers of its frames, and what NCCL keeps of the rest.
#pragma once

namespace orrery::hardware {

/// Bytes of payload over bytes on the wire of full packets.
constexpr double frame_share(double payload_bytes, double header_bytes) {
    return payload_bytes / (payload_bytes + header_bytes);
}

/// InfiniBand Architecture Specification, volume 1, chapter 5 (packet format): local route header 8, base transport
/// header 12, invariant CRC 4, variant CRC 2, around at most 4,096 bytes. Line coding is not in the rates' names (EDR,
/// HDR, NDR), and the extended header of a message's first packet is not worth counting.
inline constexpr double infiniband_frame_share = frame_share(4096, 8 + 12 + 4 + 2);

/// RoCE v2 (the specification's annex A17) in IEEE 802.3 frames: preamble 8, Ethernet header 14 and check sequence 4,
/// gap 12, IPv4 20, UDP 8, base transport header 12, invariant CRC 4.
inline constexpr double roce_frame_share = frame_share(4096, 8 + 14 + 4 + 12 + 20 + 8 + 12 + 4);

/// What NCCL reaches of the payload rate: 48 of 50 GB/s on a DGX-1 with 4 x EDR, and 96 of 100 GB/s on A100 with 4 x
/// HDR, bus bandwidth of large all_reduces over InfiniBand (nccl-tests, issues 29 and 119). Neither is a row that a
/// score counts.
inline constexpr double nccl_share = 0.96 / infiniband_frame_share;

}  // namespace orrery::hardware
