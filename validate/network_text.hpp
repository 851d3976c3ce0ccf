// What a row prints of its network, in whatever words: adapters of a node, their rate, what kind they are, and what was
// measured over them.
#pragma once

#include <cstdint>
#include <string>

namespace orrery::validate {

/// NICs of one node as a text prints them: "8x HDR InfiniBand 200 Gb/s per node", "4x EDR IB", "1600 Gbps",
/// "400 Gb/s per GPU", "2 x (ConnectX-6) 25 GB/s".
struct Nics {
    std::uint32_t count = 0;      ///< 0: not stated
    double bytes_per_second = 0;  ///< of one NIC when count is stated, else see total; 0: not stated
    bool total = false;           ///< count is not stated and the rate is the node's, not a NIC's
    bool per_gpu = false;         ///< as many NICs of that rate as the node has GPUs
    bool bare = false;            ///< a rate that one port has, and no count beside it

    [[nodiscard]] bool stated() const { return bytes_per_second > 0; }
};

enum class Fabric : std::uint8_t { not_stated, infiniband, ethernet, efa, omni_path };

struct NetworkText {
    Nics nics;
    Fabric fabric = Fabric::not_stated;
    /// Of a node, by NCCL, where the text says that it was measured; the middle of a range. 0: not printed.
    double measured_bytes_per_second = 0;
    std::string nccl, aws_ofi_nccl;  ///< versions, "2.18.5"; "": not printed
};

/// "4x EDR IB", "8x NDR400" in any text: the InfiniBand Trade Association's rates of four lanes.
Nics nics_of_generation(const std::string& text);

/// Networks for management and storage, and links inside a node, are not the network. Throws Skip with the text where
/// it prints a rate or a name that is not understood.
NetworkText read_network(const std::string& text);

}  // namespace orrery::validate
