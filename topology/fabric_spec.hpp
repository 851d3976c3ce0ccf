// What a scenario says of the fabric between its nodes, and the kinds of fabric it can name.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/fabric.hpp"

namespace orrery::topology {

/// Keys of /cluster that describe a fabric; what is absent has a default that its kind documents.
struct FabricSpec {
    std::string kind = {};             ///< "": the preset's own; "torus", "dragonfly", ...
    std::string shape = {};            ///< "4x4x8": sizes of the dimensions (of one slice); XGFT: children by level
    std::string parents = {};          ///< XGFT: parents by level
    std::uint32_t terminals = 0;       ///< ports of nodes on a router or leaf
    std::uint32_t routers = 0;         ///< of a dragonfly group; leaves of a dragonfly+ group
    std::uint32_t spines = 0;          ///< of a dragonfly+ group
    std::uint32_t global_links = 0;    ///< of a router (dragonfly) or spine (dragonfly+)
    std::uint32_t groups = 0;          ///< of a dragonfly; slices of a multislice fabric
    double link_bytes_per_second = 0;  ///< of a cable between routers; 0: the NIC's
    bool operator==(const FabricSpec&) const = default;
};

/// A row of the table of kinds.
struct FabricKind {
    std::string_view name;
    std::string_view keys;     ///< keys of /cluster that it uses
    std::string_view summary;  ///< one line
    std::string_view source;
    /// parts.nodes 0: as many nodes as fit. oversubscription: leaf down : up. Throws Error (pointers under "/cluster").
    std::shared_ptr<const Fabric> (*make)(const FabricSpec& spec, FabricParts parts);
};
std::span<const FabricKind> fabric_kinds();

/// Throws Error for an unknown kind, with the nearest names.
const FabricKind& find_fabric(std::string_view kind);

/// "4x4x8" -> {4, 4, 8}. Throws Error at /cluster/FIELD unless there are 1 to most_dimensions sizes from 1 to
/// 65,536 with a product below 2^24.
std::vector<std::uint32_t> parse_shape(const std::string& text, const char* field, std::size_t most_dimensions);

/// Sizes of so many dimensions, as equal as possible, whose product is `count`: 64 in three is 4 x 4 x 4.
std::vector<std::uint32_t> even_shape(std::uint32_t count, std::size_t dimensions);

/// Fills nodes where they are 0, and checks that a fabric with so many ports has room for them.
FabricParts fit(FabricParts parts, std::uint64_t ports, std::string_view kind);

/// A value of /cluster with its default; throws Error unless it lies in [1, most].
std::uint32_t parameter(std::uint32_t asked, std::uint32_t usual, const char* field, std::uint32_t most = 4096);

}  // namespace orrery::topology
