// The kinds of fabric that a scenario can name, beside what a preset has by itself.
#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "topology/dragonfly.hpp"
#include "topology/dragonfly_plus.hpp"
#include "topology/hyperx.hpp"
#include "topology/multislice.hpp"
#include "topology/rail_only.hpp"
#include "topology/star.hpp"
#include "topology/torus.hpp"
#include "topology/xgft.hpp"

namespace orrery::topology {

std::span<const FabricKind> fabric_kinds() {
    static constexpr FabricKind kinds[] = {
        {"k-ary-fat-tree", "switch_ports", "three tiers of k-port switches, k^3 / 4 ports",
         "Al-Fares et al., SIGCOMM 2008", make_k_ary},
        {"xgft", "shape, parents", "extended generalised fat-tree, any heights and oversubscription",
         "Ohring et al., IPPS 1995", make_xgft},
        {"rail-only", "switch_ports, oversubscription", "a network for each rail, joined by NVLink only",
         "Wang et al., HOTI 2024", make_rail_only},
        {"torus", "shape, terminals", "each router joined to its neighbours in every dimension",
         "Dally and Towles 2004; Jouppi et al., ISCA 2023", make_torus},
        {"multislice", "shape, groups", "tori of chips whose hosts a data centre's network joins",
         "Google Cloud documentation, Cloud TPU Multislice", make_multislice},
        {"tofu", "shape, terminals", "6-D torus of cubes of 2 x 3 x 2", "Ajima et al., IEEE Computer 2009", make_tofu},
        {"dragonfly", "terminals, routers, global_links, groups", "groups of routers joined pairwise, groups too",
         "Kim et al., ISCA 2008", make_dragonfly},
        {"dragonfly-plus", "terminals, routers, spines, global_links, groups", "two-tier groups joined by their spines",
         "Shpiner et al., HiPINEB 2017", make_dragonfly_plus},
        {"hyperx", "shape, terminals", "routers on a grid, joined pairwise in every row", "Ahn et al., SC 2009",
         make_hyperx},
        {"full-mesh", "shape, terminals", "every two routers joined", "HyperX of one dimension", make_full_mesh},
        {"star", "", "one switch of as many ports as it takes", "parameter servers: Li et al., OSDI 2014", make_star},
    };
    return kinds;
}

const FabricKind& find_fabric(std::string_view kind) {
    std::vector<std::string_view> names;
    for (const FabricKind& known : fabric_kinds()) {
        if (known.name == kind) return known;
        names.push_back(known.name);
    }
    throw Error("", "/cluster/fabric", "unknown fabric \"" + std::string(kind) + "\"",
                "nearest names: " + join(nearest(kind, names)));
}

}  // namespace orrery::topology
