// A list of cables. The fabric of one that is accepted has a route between any two of its ports, over links of its own.
#include "tests/fuzz/routes.hpp"
#include "tests/fuzz/target.hpp"
#include "topology/cable_list.hpp"

namespace orrery::fuzz {

bool cables(const std::string& input) {
    return accepts("cables.csv", [&] {
        const topology::FabricParts parts{.nodes = 0, .nics_per_node = 1};
        require_routes(*topology::parse_cable_list(input, "cables.csv", parts));
    });
}

}  // namespace orrery::fuzz
