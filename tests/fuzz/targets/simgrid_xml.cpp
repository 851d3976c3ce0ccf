// A SimGrid platform. The fabric of one that is accepted has a route between any two of its hosts.
#include "topology/simgrid_xml.hpp"

#include "tests/fuzz/routes.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool simgrid_xml(const std::string& input) {
    return accepts("platform.xml", [&] {
        const topology::FabricParts parts{.nodes = 0, .nics_per_node = 1};
        require_routes(*topology::parse_simgrid_xml(input, "platform.xml", parts));
    });
}

}  // namespace orrery::fuzz
