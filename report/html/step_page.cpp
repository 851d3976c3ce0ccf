#include "report/html/step_page.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/breakdown.hpp"
#include "report/html/kernel_list.hpp"
#include "report/html/memory_curve.hpp"
#include "report/html/page.hpp"
#include "report/html/timeline.hpp"
#include "report/json.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;

Json category_titles() {
    Json list = Json::array();
    for (const Category& category : categories) list.push_back({{"key", category.key}, {"title", category.title}});
    return list;
}

/// MFU goes as the throughput per GPU, and so as the scale factor.
Json points(const std::vector<sim::ScalePoint>& scaling, const sim::Prediction& p) {
    Json list = Json::array();
    for (const sim::ScalePoint& point : scaling)
        list.push_back({{"gpus", point.gpus},
                        {"step_time_s", point.step_time_s},
                        {"scale_factor", point.scale_factor},
                        {"mfu", p.mfu * point.scale_factor / p.scale_factor}});
    return list;
}

Json network(const sim::Prediction& p) {
    Json levels = Json::array(), links = Json::array();
    (void)p;
    return {{"cluster", p.cluster}, {"levels", std::move(levels)}, {"links", std::move(links)}};
}

}  // namespace

std::string step_page(const scenarios::Scenario& scenario, const sim::Prediction& p, const StepPage& more) {
    const Json data{{"view", "simulate"},
                    {"title", scenario.name},
                    {"subtitle", fmt::format("{} GPUs, {}", p.gpus, p.cluster)},
                    {"report", Json::parse(json(scenario, p))},
                    {"categories", category_titles()},
                    {"timeline", timeline(scenario, p)},
                    {"memory", memory_curve(p)},
                    {"scaling", points(more.scaling, p)},
                    {"network", network(p)},
                    {"roofline", roof(p, *more.predictor, 0)},
                    {"kernels", kernel_list(p, *more.predictor, 0)},
                    {"step_rank", 0},
                    {"command", more.command}};
    return page(data);
}

}  // namespace orrery::report
