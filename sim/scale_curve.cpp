#include "sim/scale_curve.hpp"

#include <numeric>

#include "sim/predict.hpp"
#include "sim/run_step.hpp"
#include "strategies/replica_batches.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {

std::vector<ScalePoint> scale_curve(const scenarios::Scenario& scenario, const Prediction& prediction,
                                    calibrate::ProfileStore& store) {
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const Profiles profiles = profiles_of(scenario, cluster, store);
    const strategies::Plan& plan = scenario.plan;
    const std::uint32_t per_data = plan.ranks() / plan.strategy.data, least = plan.expert_extent();
    const double share = strategies::mean_share(strategies::first_replicas(plan, least));
    std::vector<ScalePoint> curve;
    for (std::uint32_t data = least; data < plan.strategy.data; data *= 2) {
        if (plan.strategy.data % data != 0) continue;
        strategies::Plan fewer = strategies::first_replicas(plan, data);
        fewer.strategy.optimizer_instances = std::gcd(plan.strategy.optimizer_instances, data / least);
        const double seconds = run_plan(fewer, cluster, profiles)->seconds();
        const double base = curve.empty() ? seconds : curve.front().step_time_s;
        curve.push_back({per_data * data, seconds, base / seconds * (strategies::mean_share(fewer) / share)});
    }
    curve.push_back({prediction.gpus, prediction.step_time_s, prediction.scale_factor});
    return curve;
}

}  // namespace orrery::sim
