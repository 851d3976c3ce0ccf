#include "report/json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "report/breakdown.hpp"
#include "report/keeping_step.hpp"
#include "report/whole_run.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;

/// The first number that JSON cannot hold ends the report.
void require_finite(const Json& value, const std::string& pointer) {
    if (value.is_number_float() && !std::isfinite(value.get<double>()))
        throw std::runtime_error(fmt::format("the report's {} is not a finite number", pointer));
    if (!value.is_structured()) return;
    for (const auto& [key, child] : value.items()) require_finite(child, pointer + '/' + key);
}

Json seconds_by_category(const sim::Breakdown& breakdown) {
    Json object = Json::object();
    for (const Category& category : categories) object[std::string(category.key)] = breakdown.*category.seconds;
    return object;
}

/// null where it was not replayed.
Json allocator_json(const strategies::AllocatorUse* use) {
    if (use == nullptr) return {};
    return {{"allocated", use->allocated},
            {"reserved", use->reserved},
            {"retries", use->retries},
            {"out_of_memory", use->out_of_memory}};
}

Json memory_of(std::size_t stage, const sim::MemoryUse& use) {
    const sim::StageMemory& memory = use.memory[stage];
    const hardware::FrameworkMemory framework = use.framework_of(stage);
    Json kinds = Json::object();
    for (std::size_t keep = 0; keep < strategies::keeps; ++keep)
        kinds[std::string(name(static_cast<strategies::Keep>(keep)))] = memory.at_peak[keep];
    return {{"stage", stage},
            {"peak", memory.peak},
            {"at_peak", std::move(kinds)},
            {"before_backward", memory.before_backward},
            {"after_backward", memory.after_backward},
            {"after_optimizer", memory.after_optimizer},
            {"host", memory.host},
            {"framework",
             {{"workspaces", framework.workspaces},
              {"context", framework.context},
              {"communicators", framework.communicators}}},
            {"allocator", allocator_json(use.replayed(stage))},
            {"needed", use.needed(stage)},
            {"capacity", use.capacity(stage)}};
}

/// null of a measured step.
Json interval_json(const sim::Interval& interval) {
    if (interval.high == 0) return {};
    return {{"low", interval.low}, {"high", interval.high}};
}

Json key_figures(const sim::Step& p, const sim::Outlook& outlook) {
    const bool scaled = outlook.scale_base_gpus > 0, budget = p.training_time_s > 0;
    return {{"schema_version", schema_version},
            {"step_time_s", p.step_time_s},
            {"step_interval_s", interval_json(outlook.step_interval)},
            {"planned_step_time_s", outlook.planned_step_time_s > 0 ? Json(outlook.planned_step_time_s) : Json()},
            {"tokens_per_s", p.tokens_per_s},
            {"model_tflops_per_gpu", p.model_flops_per_gpu / 1e12},
            {"hardware_tflops_per_gpu", p.hardware_flops_per_gpu / 1e12},
            {"mfu", p.mfu},
            {"mfu_causal", p.mfu_causal},
            {"hfu", p.hfu},
            {"scale_factor", scaled ? Json(outlook.scale_factor) : Json()},
            {"scale_reference", scaled ? Json({{"gpus", outlook.scale_base_gpus}}) : Json()},
            {"training_time_s", budget ? Json(p.training_time_s) : Json()}};
}

/// Of a token budget, and of failures on the way to it.
void add_whole_run(Json& report, const scenarios::Scenario& scenario, const sim::Step& p, const sim::Outlook& outlook) {
    if (const double skipped = scenario.plan.training.skipped_share(); p.training_time_s > 0 && skipped > 0)
        report["skipped_steps"] = skipped;
    if (outlook.warm_up) report["warm_up"] = warm_up_json(*outlook.warm_up);
    if (outlook.synchrony) report["synchrony"] = synchrony_json(*outlook.synchrony, scenario.outputs.token_budget);
    if (p.end_to_end_s > 0) report["end_to_end_time_s"] = p.end_to_end_s;
    if (outlook.whole_run) report["whole_run"] = whole_run_json(p, *outlook.whole_run);
}

void add_stages(Json& report, const sim::Step& p) {
    const std::size_t bounding = bounding_stage(p.stages);
    report["bounding_stage"] = bounding;
    report["breakdown_s"] = seconds_by_category(p.stages.empty() ? sim::Breakdown{} : p.stages[bounding]);
    report["stages"] = Json::array();
    for (std::size_t stage = 0; stage < p.stages.size(); ++stage)
        report["stages"].push_back({{"stage", stage}, {"breakdown_s", seconds_by_category(p.stages[stage])}});
}

void add_gpu_kinds(Json& report, const sim::Step& p) {
    report["gpu_kinds"] = Json::array();
    for (const sim::GpuUse& use : p.gpu_kinds)
        report["gpu_kinds"].push_back({{"gpu", use.gpu},
                                       {"profile", use.profile},
                                       {"gpus", use.gpus},
                                       {"breakdown_s", seconds_by_category(use.mean)}});
}

void add_memory(Json& report, const sim::Step& p) {
    Json peaks = Json::array(), detail = Json::array();
    for (std::size_t stage = 0; stage < p.memory.size(); ++stage) {
        peaks.push_back(p.memory[stage].peak);
        detail.push_back(memory_of(stage, p));
    }
    report["peak_memory_bytes"] = std::move(peaks);
    report["memory_capacity_bytes"] = p.memory_capacity;
    report["fits"] = p.fits;
    report["host_memory_bytes"] = p.host_memory;
    report["host_capacity_bytes"] = p.host_capacity > 0 ? Json(p.host_capacity) : Json();
    report["memory_bytes"] = std::move(detail);
}

void add_sharing(Json& report, const sim::Sharing& p) {
    for (const sim::JobStep& job : p.jobs)
        report["jobs"].push_back({{"name", job.name},
                                  {"gpus", job.gpus},
                                  {"starts_at_s", job.starts_at_s},
                                  {"alone_s", job.alone_s},
                                  {"shared_s", job.shared_s}});
    for (const sim::SharedLink& link : p.shared_links)
        report["shared_links"].push_back({{"name", link.name},
                                          {"links", link.links},
                                          {"bytes_per_second", link.bytes_per_second},
                                          {"own_bytes", link.own_bytes},
                                          {"other_bytes", link.other_bytes},
                                          {"busy", link.busy}});
}

Json document(const scenarios::Scenario& scenario, const sim::Step& p, const sim::Outlook& outlook, const Json& more) {
    Json report = key_figures(p, outlook);
    add_whole_run(report, scenario, p, outlook);
    add_stages(report, p);
    add_gpu_kinds(report, p);
    add_memory(report, p);
    add_sharing(report, outlook);
    report["bottleneck"] = outlook.bottleneck;
    report["advice"] = outlook.advice;
    report["warnings"] = outlook.warnings;
    report["derived"] = Json::array();
    for (const sim::Derived& part : outlook.derived)
        report["derived"].push_back({{"what", part.what}, {"share", part.share}});
    report["scenario"] = resolved(scenario);
    report["provenance"] = {{"version", p.version}, {"profile", p.profile}, {"cluster", p.cluster}, {"seed", p.seed},
                            {"gpus", p.gpus},       {"ops", p.ops},         {"classes", p.classes}};
    report.update(more);
    require_finite(report, "");
    return report;
}

std::string text_of(const Json& document) {
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

void write_with_operations(const Json& document, const sim::Step& step, const Sink& write) {
    constexpr std::string_view end = "\n}\n";
    std::string text = text_of(document);
    text.resize(text.size() - end.size());
    write(text + ",\n  \"operations\": ");
    operations(step, write);
    write(end);
}

Records stages_of(const Json& report) {
    Json rows = report.at("stages");
    for (std::size_t stage = 0; stage < rows.size(); ++stage) {
        rows[stage]["memory_bytes"] = report.at("memory_bytes").at(stage);
        rows[stage]["memory_bytes"].erase("stage");
    }
    return Records::of(rows);
}

}  // namespace

Records stages(const scenarios::Scenario& scenario, const sim::Prediction& p) {
    return stages_of(document(scenario, p, p, Json::object()));
}

Records stages(const scenarios::Scenario& scenario, const MeasuredStep& step) {
    return stages_of(document(scenario, step, {}, Json::object()));
}

std::string json(const scenarios::Scenario& scenario, const sim::Prediction& p) {
    return json(scenario, p, Json::object());
}

std::string json(const scenarios::Scenario& scenario, const sim::Prediction& p, const Json& more) {
    return text_of(document(scenario, p, p, more));
}

void json_with_operations(const scenarios::Scenario& scenario, const sim::Prediction& p, const Json& more,
                          const Sink& write) {
    write_with_operations(document(scenario, p, p, more), p, write);
}

void json_with_operations(const scenarios::Scenario& scenario, const MeasuredStep& step, const Json& more,
                          const Sink& write) {
    write_with_operations(document(scenario, step, {}, more), step, write);
}

}  // namespace orrery::report
