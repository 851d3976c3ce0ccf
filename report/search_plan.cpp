#include "report/search_plan.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "documents/write_fields.hpp"
#include "report/planned.hpp"
#include "strategies/plan_fields.hpp"

namespace orrery::report {

namespace {

using planning::FoundPlan;
using planning::SearchQuestion;
using strategies::Recompute;
using strategies::Strategy;
using Json = nlohmann::ordered_json;

std::string recompute(const Strategy& s) {
    if (s.recompute == Recompute::none) return "none";
    if (s.recompute == Recompute::selective)
        return s.recompute_modules.empty() ? "selective" : "selective, " + s.recompute_modules;
    using strategies::CheckpointPolicy;
    const char* const kept = s.checkpoint_policy == CheckpointPolicy::nothing           ? ""
                             : s.checkpoint_policy == CheckpointPolicy::every_second_mm ? " but each second product"
                                                                                        : " but named results";
    return s.recompute_num_layers == 0 ? fmt::format("full{}", kept)
                                       : fmt::format("full{}, {} layers", kept, s.recompute_num_layers);
}

/// What has no column of its own.
std::string rest(const Strategy& s) {
    std::vector<std::string> words;
    const auto add = [&](bool holds, const std::string& word) {
        if (holds) words.push_back(word);
    };
    add(s.expert > 1, fmt::format("EP{}{}", s.expert, s.expert_tensor == 1 ? " whole experts" : ""));
    add(s.sequence_parallel, "SP");
    add(s.cpu_offloading_num_layers > 0, fmt::format("offload {} layers", s.cpu_offloading_num_layers));
    add(s.compression == strategies::Compression::onebit_adam, "1-bit Adam");
    add(s.compression == strategies::Compression::powersgd, fmt::format("PowerSGD of rank {}", s.powersgd_rank));
    add(s.compression == strategies::Compression::by_ratio, fmt::format("gradients / {:g}", s.compression_ratio));
    add(s.optimizer_cpu_offload, "optimizer on host");
    add(s.overlap_grad_reduce, "overlap grad");
    add(s.overlap_param_gather, "overlap param");
    add(s.overlap_p2p, "overlap p2p");
    add(s.tensor > 1 && !s.async_tensor_allreduce, "no async tensor");
    add(s.tensor > 1 && s.pipeline > 1 && !s.sequence_parallel && !s.scatter_gather, "no scatter-gather");
    add(!s.placement.empty(), s.placement);
    add(s.context > 1, fmt::format("context {}", s.context));
    add(s.optimizer_instances > 1, fmt::format("{} groups that share", s.optimizer_instances));
    return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

const planning::ObjectiveRow& objective_of(const SearchQuestion& question) {
    return planning::objectives[static_cast<std::size_t>(question.objective)];
}

std::vector<std::string> plan_cells(const SearchQuestion& question, const FoundPlan& plan) {
    const Strategy& s = plan.strategy;
    std::vector<std::string> cells = question.sites.values(plan.site);
    for (const std::uint32_t number : {s.tensor, s.pipeline, s.data, plan.micro_batch})
        cells.push_back(std::to_string(number));
    const strategies::Schedule& schedule = schedule_of(s.schedule);
    cells.push_back(s.virtual_pipeline > 1 ? fmt::format("{} x{}", schedule.name, s.virtual_pipeline)
                    : s.pipeline == 1      ? "-"
                                           : std::string(schedule.name));
    cells.push_back(recompute(s));
    cells.emplace_back(row_of(s.sharding).name);
    cells.push_back(rest(s));
    return cells;
}

std::vector<Table::Column> plan_columns(const SearchQuestion& question) {
    std::vector<Table::Column> columns;
    for (const planning::Axis& axis : question.sites.axes()) columns.push_back({axis.key, Table::Align::left});
    for (const char* name : {"TP", "PP", "DP", "micro-batch"}) columns.push_back({name});
    for (const char* name : {"schedule", "recompute", "sharding", "and"}) columns.push_back({name, Table::Align::left});
    return columns;
}

std::vector<std::string> plan_keys(const SearchQuestion& question) {
    std::vector<std::string> keys;
    for (const planning::Axis& axis : question.sites.axes()) keys.push_back(axis.key);
    for (const auto& field : strategies::strategy_fields()) keys.emplace_back(field.key.name);
    keys.emplace_back("micro_batch_size");
    return keys;
}

std::vector<std::string> plan_values(const SearchQuestion& question, const FoundPlan& plan) {
    std::vector<std::string> cells = question.sites.values(plan.site);
    for (const auto& field : strategies::strategy_fields()) {
        const documents::Setting setting = field.get(plan.strategy);
        const Json value = can_say(field.key, setting) ? to_json(field.key, setting) : Json("");
        cells.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    }
    cells.push_back(std::to_string(plan.micro_batch));
    return cells;
}

Json plan_json(const SearchQuestion& question, const FoundPlan& plan) {
    Json entry;
    entry["plan"] = plan.number;
    if (!question.sites.axes().empty()) {
        Json& site = entry["site"] = Json::object();
        const auto values = question.sites.values(plan.site);
        for (std::size_t i = 0; i < values.size(); ++i) site[question.sites.axes()[i].key] = values[i];
    }
    add_outcome(plan.outcome, entry);
    const planning::ObjectiveRow& objective = objective_of(question);
    if (objective.kind != planning::Objective::step) entry[objective.unit] = plan.counts * objective.scale;
    entry["strategy"] = documents::write_fields(strategies::strategy_fields(), plan.strategy);
    entry["micro_batch_size"] = plan.micro_batch;
    Json set = Json::array();
    for (const scenarios::Override& change : settings(question, plan))
        set.push_back(fmt::format("{}={}", change.path, change.value));
    entry["set"] = std::move(set);
    return entry;
}

}  // namespace orrery::report
