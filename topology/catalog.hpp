// The clusters a scenario can name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/cluster.hpp"
#include "topology/fabric_spec.hpp"

namespace orrery::topology {

/// What a scenario says of its cluster; everything but `preset` is optional and overrides the preset.
struct ClusterSpec {
    std::string preset;               ///< "superpod-a100", "ethernet", ...
    std::uint32_t nodes = 0;          ///< 0: the preset's own size
    std::string gpu = {};             ///< "" : the preset's GPU
    double gpu_power_limit = 0;       ///< watts that each board is held to; 0: its design power
    std::uint32_t gpus_per_node = 0;  ///< 0: the preset's
    std::uint32_t nics_per_node = 0;  ///< 0: the preset's
    double nic_bytes_per_second = 0;  ///< 0: the preset's
    double oversubscription = 0;      ///< leaf down : up; 0: the preset's
    std::uint32_t switch_ports = 0;   ///< 0: the preset's
    FabricSpec fabric = {};           ///< another fabric between the preset's nodes
    /// Of routing_policies(); "": spray on a preset's own tree of InfiniBand where nothing has failed, else minimal.
    std::string routing = {};
    std::uint64_t routing_seed = 1;        ///< of ecmp's hash
    std::vector<std::string> failed = {};  ///< links and switches that do not work (Failures)
    std::string node_file = {};            ///< NCCL topology XML: the wiring of the nodes instead of the preset's
    std::string fabric_file =
        {};  ///< SimGrid platform (.xml) or CSV list of cables: the fabric instead of the preset's
    std::vector<std::string> more_nodes = {};  ///< "4 x P100": nodes of other GPUs, after the preset's own
    std::string nccl_version = {};             ///< "2.18.5"; "": the newest
    std::string aws_ofi_nccl_version = {};     ///< of Amazon's plugin, "1.7.3"; "": the newest
};

struct Preset {
    std::string_view name;
    std::string_view summary;  ///< one line for `orrery list clusters`
    std::string_view source;   ///< the reference architecture or datasheet
    std::uint32_t default_nodes, max_nodes;
};
std::span<const Preset> presets();

/// Throws Error (pointer under "/cluster") for an unknown preset (with the nearest names), a size the
/// reference architecture cannot have, or an override that makes no sense.
Cluster build(const ClusterSpec& spec);

/// Of hardware::gpus(), by name or common alias. Throws Error (pointer "/cluster/gpu") with nearest names.
const Gpu& find_gpu(std::string_view name);

}  // namespace orrery::topology
