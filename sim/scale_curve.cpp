#include "sim/scale_curve.hpp"

#include <memory>
#include <numeric>

#include "sim/replicas_alone.hpp"
#include "sim/run_step.hpp"
#include "strategies/replica_batches.hpp"

namespace orrery::sim {

std::vector<ScalePoint> scale_curve(const scenarios::Scenario& scenario, const Prediction& prediction,
                                    calibrate::ProfileStore& store) {
    const std::shared_ptr<Site> site = make_site(scenario, store);
    const strategies::Plan& plan = scenario.plan;
    const std::uint32_t per_data = plan.ranks() / plan.strategy.data, least = plan.expert_extent();
    ReplicasAlone alone(*site);
    std::vector<ScalePoint> curve;
    for (std::uint32_t data = least; data < plan.strategy.data; data *= 2) {
        if (plan.strategy.data % data != 0) continue;
        strategies::Plan fewer = strategies::first_replicas(plan, data);
        fewer.strategy.optimizer_instances = std::gcd(plan.strategy.optimizer_instances, data / least);
        const double seconds = run_plan(fewer, site->cluster, site->profiles)->seconds();
        const double scale = ReplicasAlone::scale_factor(fewer, seconds, alone.sequences_per_second(fewer));
        curve.push_back({per_data * data, seconds, scale});
    }
    curve.push_back({prediction.gpus, prediction.step_time_s, prediction.scale_factor});
    return curve;
}

}  // namespace orrery::sim
