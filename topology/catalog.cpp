#include "topology/catalog.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "topology/ethernet.hpp"
#include "topology/rail_optimized.hpp"
#include "topology/superpod.hpp"
#include "topology/tpu.hpp"

namespace orrery::topology {

namespace {

const std::vector<Design>& designs() {
    static const std::vector<Design> all = [] {
        std::vector<Design> result;
        for (auto table : {superpod_designs(), rail_optimized_designs(), ethernet_designs(), tpu_designs()}) {
            result.insert(result.end(), table.begin(), table.end());
        }
        return result;
    }();
    return all;
}

}  // namespace

std::span<const Preset> presets() {
    static const std::vector<Preset> all = [] {
        std::vector<Preset> result;
        for (const Design& design : designs()) result.push_back(design.preset);
        return result;
    }();
    return all;
}

Cluster build(const ClusterSpec& spec) {
    std::vector<std::string_view> names;
    for (const Design& design : designs()) {
        if (design.preset.name == spec.preset) {
            Cluster cluster = build(design, spec);
            return spec.failed.empty() ? cluster : cluster.with_failures(spec.failed);
        }
        names.push_back(design.preset.name);
    }
    throw Error("", "/cluster/preset", "unknown cluster \"" + spec.preset + "\"",
                "nearest names: " + join(nearest(spec.preset, names)));
}

const Gpu& find_gpu(std::string_view name) {
    if (const Gpu* const gpu = hardware::find(name)) return *gpu;
    throw Error("", "/cluster/gpu", "unknown GPU \"" + std::string(name) + "\"",
                "nearest names: " + join(nearest(name, hardware::names())));
}

}  // namespace orrery::topology
