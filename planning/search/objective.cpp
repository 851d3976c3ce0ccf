#include "planning/search/objective.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "hardware/power.hpp"

namespace orrery::planning {

namespace {

/// Over the cluster's GPUs.
template <class Each>
double mean(const Site& site, const Each& each) {
    double total = 0;
    for (const topology::NodeGroup& group : site.cluster.groups())
        total += each(group.gpu) * group.nodes * static_cast<double>(group.plan->gpus());
    return total / site.cluster.gpus();
}

}  // namespace

double hourly(const Site& site, const GpuPrices& prices) {
    if (prices.empty()) return 1;
    return mean(site, [&](const topology::Gpu& gpu) {
        const auto price = prices.find(gpu.name);
        if (price == prices.end())
            throw Error("", "/cluster/gpu", fmt::format("{} has no price", gpu.name),
                        fmt::format("--price {}=...", gpu.name));
        return price->second;
    });
}

double detail::watts(const Site& site) {
    return mean(site, [](const topology::Gpu& gpu) {
        const double power = hardware::power_of(gpu.name, gpu.power_limit_watts).gpu;
        if (power == 0)
            throw Error("", "/cluster/gpu", fmt::format("what a {} draws is not known", gpu.name),
                        "take another objective: step, time or cost");
        return power;
    });
}

}  // namespace orrery::planning
