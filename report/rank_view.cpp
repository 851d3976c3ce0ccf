#include "report/rank_view.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/explain.hpp"
#include "report/html/kernel_list.hpp"
#include "sim/predict.hpp"
#include "topology/catalog.hpp"

namespace orrery::report {

RankView::RankView(const scenarios::Scenario& scenario, std::uint32_t rank)
    : scenario_(scenario),
      rank_(rank),
      prediction_(sim::predict(scenario, profiles_,
                               {.keep_trace = true, .scale_factor = false, .advice = false, .allocator = false})),
      cluster_(topology::build(scenario.cluster)) {
    // A rank that is not there has no GPU; explain() says so.
    const topology::GpuId here = scenario.plan.placement.gpu(std::min(rank, scenario.gpus - 1));
    gpu_ = &cluster_.gpu_of(here);
    node_ = &cluster_.plan_of(cluster_.node_of(here));
    predictor_ = &sim::profiles_of(scenario, cluster_, profiles_).of(*gpu_);
    text_ = explain(scenario, prediction_, device(), rank);
}

Device RankView::device() const { return {*predictor_, *gpu_, *node_}; }

Records RankView::table() const { return explained(scenario_, prediction_, device(), rank_); }

nlohmann::ordered_json RankView::json() const {
    return {{"scenario", scenario_.name},
            {"rank", rank_},
            {"step_time_s", prediction_.step_time_s},
            {"roof", roof(prediction_, *predictor_, rank_)},
            {"kernels", kernel_list(scenario_.plan, prediction_, device(), rank_)}};
}

}  // namespace orrery::report
