// A scenario written out in full.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "documents/write_fields.hpp"
#include "report/json.hpp"
#include "report/model_keys.hpp"
#include "strategies/plan_fields.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;

/// Only what the scenario says beyond the preset.
Json of(const topology::ClusterSpec& c) {
    Json cluster = {{"preset", c.preset}};
    if (c.nodes > 0) cluster["nodes"] = c.nodes;
    if (!c.gpu.empty()) cluster["gpu"] = c.gpu;
    if (c.gpus_per_node > 0) cluster["gpus_per_node"] = c.gpus_per_node;
    if (c.gpu_power_limit > 0) cluster["gpu_power_limit"] = c.gpu_power_limit;
    if (c.nics_per_node > 0) cluster["nics_per_node"] = c.nics_per_node;
    if (c.nic_bytes_per_second > 0) cluster["nic_rate"] = fmt::format("{} GB/s", c.nic_bytes_per_second / 1e9);
    if (c.oversubscription > 0) cluster["oversubscription"] = c.oversubscription;
    if (c.switch_ports > 0) cluster["switch_ports"] = c.switch_ports;
    const topology::FabricSpec& f = c.fabric;
    const auto text = [&](const char* key, const std::string& value) {
        if (!value.empty()) cluster[key] = value;
    };
    const auto count = [&](const char* key, std::uint32_t value) {
        if (value > 0) cluster[key] = value;
    };
    text("fabric", f.kind);
    text("shape", f.shape);
    text("parents", f.parents);
    count("terminals", f.terminals);
    count("routers", f.routers);
    count("spines", f.spines);
    count("global_links", f.global_links);
    count("groups", f.groups);
    if (f.link_bytes_per_second > 0) cluster["link_rate"] = fmt::format("{} GB/s", f.link_bytes_per_second / 1e9);
    text("node_file", c.node_file);
    text("fabric_file", c.fabric_file);
    if (!c.more_nodes.empty()) cluster["more_nodes"] = c.more_nodes;
    text("nccl_version", c.nccl_version);
    text("aws_ofi_nccl_version", c.aws_ofi_nccl_version);
    text("routing", c.routing);
    if (c.routing_seed != topology::ClusterSpec{}.routing_seed) cluster["routing_seed"] = c.routing_seed;
    if (!c.failed.empty()) cluster["failed"] = c.failed;
    return cluster;
}

Json of(const strategies::Training& plan, double dropout) {
    Json training = documents::write_fields(strategies::training_fields(), plan);
    training["dropout"] = dropout;
    return training;
}

Json of(const scenarios::Perturbations& table) {
    Json object = Json::object();
    for (const scenarios::Straggler& straggler : table.stragglers) object["stragglers"].push_back(to_text(straggler));
    for (const scenarios::SlowLink& link : table.links) object["slow_links"].push_back(to_text(link));
    if (table.jitter > 0) object["jitter"] = table.jitter;
    for (const scenarios::Background& traffic : table.background) object["background"].push_back(to_text(traffic));
    if (table.expert_imbalance != 1) object["expert_imbalance"] = table.expert_imbalance;
    for (const scenarios::ExpertLoad& load : table.expert_loads) object["expert_loads"].push_back(to_text(load));
    if (table.expert_zipf > 0) object["expert_zipf"] = table.expert_zipf;
    return object;
}

Json of(const scenarios::OtherJob& job) {
    Json object = {{"scenario", job.scenario}};
    if (!job.set.empty()) object["set"] = job.set;
    if (job.first_gpu) object["first_gpu"] = *job.first_gpu;
    if (job.starts_at > 0) object["starts_at"] = fmt::format("{} s", job.starts_at);
    return object;
}

/// By GPU where there are several kinds.
Json profiles_of(const scenarios::Scenario& scenario) {
    if (scenario.more_profiles.empty()) return scenario.profile;
    Json profiles = {{topology::build(scenario.cluster).gpu().name, scenario.profile}};
    for (const auto& [gpu, profile] : scenario.more_profiles) profiles[gpu] = profile;
    return profiles;
}

}  // namespace

nlohmann::ordered_json resolved(const scenarios::Scenario& scenario) {
    const strategies::Plan& plan = scenario.plan;
    Json document = {{"name", scenario.name},
                     {"model", model_keys(plan.model)},
                     {"cluster", of(scenario.cluster)},
                     {"strategy", documents::write_fields(strategies::strategy_fields(), plan.strategy)},
                     {"training", of(plan.training, plan.model.dropout)},
                     {"seed", scenario.seed}};
    if (!scenario.profile.empty()) document["profile"] = profiles_of(scenario);
    if (scenario.outputs.token_budget > 0) document["outputs"] = {{"token_budget", scenario.outputs.token_budget}};
    if (!scenario.perturbations.none()) document["perturbations"] = of(scenario.perturbations);
    for (const scenarios::OtherJob& job : scenario.other_jobs) document["other_jobs"].push_back(of(job));
    if (scenario.whole_run) {
        const reliability::Options& options = *scenario.whole_run;
        document["reliability"] = documents::write_fields(reliability::failures_fields(), options.failures);
        document["checkpoint"] = documents::write_fields(reliability::checkpoint_fields(), options.checkpoint);
        document["storage"] = documents::write_fields(reliability::storage_fields(), options.storage);
    }
    if (!scenario.whole_run && !(plan.drives == strategies::DriveRates{})) {
        const reliability::Storage storage{.nvme_read = plan.drives.read, .nvme_write = plan.drives.write};
        document["storage"] = documents::write_fields(reliability::storage_fields(), storage);
    }
    if (scenario.synchrony)
        document["synchrony"] = documents::write_fields(synchrony::options_fields(), *scenario.synchrony);
    return document;
}

}  // namespace orrery::report
