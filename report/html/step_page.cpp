#include "report/html/step_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "report/breakdown.hpp"
#include "report/html/kernel_list.hpp"
#include "report/html/memory_curve.hpp"
#include "report/html/page.hpp"
#include "report/html/timeline.hpp"
#include "report/json.hpp"
#include "sim/predict.hpp"
#include "sim/scale_curve.hpp"
#include "topology/catalog.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;

Json category_titles(const strategies::Strategy& strategy) {
    Json list = Json::array();
    for (const Category& category : categories)
        list.push_back({{"key", category.key}, {"title", title_of(category, strategy)}});
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

/// What the cluster is made of, from the GPUs outwards.
Json levels(const topology::Cluster& cluster) {
    std::vector<std::pair<topology::VertexKind, std::uint64_t>> counts;
    const auto count = [&](topology::VertexKind kind, std::uint64_t number) {
        const auto found = std::ranges::find(counts, kind, [](const auto& each) { return each.first; });
        if (found == counts.end())
            counts.emplace_back(kind, number);
        else
            found->second += number;
    };
    for (const topology::NodeGroup& group : cluster.groups())
        for (const topology::VertexKind kind : group.plan->vertices()) count(kind, group.nodes);
    if (cluster.fabric().connected())
        for (const topology::Layer& layer : cluster.fabric().layers()) count(layer.kind, layer.count);
    Json list = Json::array();
    for (const auto& [kind, number] : counts)
        list.push_back({{"name", name(kind)},
                        {"count", number},
                        {"each_node", number % cluster.nodes() == 0 ? number / cluster.nodes() : 0}});
    return list;
}

Json network(const sim::Prediction& p, const topology::Cluster& cluster) {
    Json links = Json::array();
    for (const sim::LinkLevel& level : p.links)
        links.push_back({{"from", level.from},
                         {"to", level.to},
                         {"links", level.links},
                         {"bytes_per_second", level.bytes_per_second},
                         {"bytes", level.bytes},
                         {"most_bytes", level.most_bytes},
                         {"busiest", level.busiest}});
    return {{"cluster", p.cluster}, {"levels", levels(cluster)}, {"links", std::move(links)}};
}

}  // namespace

std::string step_page(const scenarios::Scenario& scenario, const sim::Prediction& p, calibrate::ProfileStore& profiles,
                      const std::string& command) {
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const topology::Gpu& gpu = cluster.gpu_of(scenario.plan.placement.gpu(0));
    const calibrate::Predictor& predictor = sim::profiles_of(scenario, cluster, profiles).of(gpu);
    const Json data{{"view", "simulate"},
                    {"title", scenario.name},
                    {"subtitle", fmt::format("{} GPUs, {}", p.gpus, p.cluster)},
                    {"report", Json::parse(json(scenario, p))},
                    {"categories", category_titles(scenario.plan.strategy)},
                    {"timeline", timeline(scenario, p)},
                    {"memory", memory_curve(p)},
                    {"scaling", points(sim::scale_curve(scenario, p, profiles), p)},
                    {"network", network(p, cluster)},
                    {"roofline", roof(p, predictor, 0)},
                    {"kernels", kernel_list(scenario.plan, p, {predictor, gpu, cluster.plan_of(0)}, 0)},
                    {"step_rank", 0},
                    {"command", command}};
    return page(data);
}

}  // namespace orrery::report
