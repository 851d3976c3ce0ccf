#include "planning/capacity/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "planning/fingerprint.hpp"
#include "reliability/goodput.hpp"
#include "sim/bottleneck.hpp"
#include "sim/predict.hpp"
#include "sim/version.hpp"

namespace orrery::capacity {

namespace {

using nlohmann::json;

constexpr const char* head = R"({"orrery": "capacity predictions", "version": 1})";

json to_json(const Facts& f) {
    const reliability::Job& j = f.job;
    return {{"step_s", j.step_s},
            {"steps", j.steps},
            {"nodes", j.nodes},
            {"gpus", j.gpus},
            {"replicas", j.replicas},
            {"per_node", j.per_node},
            {"parameters", j.parameters},
            {"saved_bytes", {j.saved_bytes[0], j.saved_bytes[1]}},
            {"resident_bytes", j.resident_bytes},
            {"savers", {j.savers[0], j.savers[1]}},
            {"on_one_node", {j.on_one_node[0], j.on_one_node[1]}},
            {"node_tokens", j.node_tokens},
            {"nics", j.nics_bytes_per_second},
            {"copies", j.copy_bytes_per_second},
            {"memory", j.memory_bytes_per_second},
            {"gpu_watts", f.watts.gpu},
            {"node_watts", f.watts.node},
            {"fits", f.fits},
            {"headroom_bytes", f.headroom_bytes},
            {"mfu", f.mfu},
            {"network_share", f.network_share},
            {"bottleneck", f.bottleneck}};
}

Facts from_json(const json& object) {
    Facts f;
    reliability::Job& j = f.job;
    object.at("step_s").get_to(j.step_s);
    object.at("steps").get_to(j.steps);
    object.at("nodes").get_to(j.nodes);
    object.at("gpus").get_to(j.gpus);
    object.at("replicas").get_to(j.replicas);
    object.at("per_node").get_to(j.per_node);
    object.at("parameters").get_to(j.parameters);
    for (std::size_t i = 0; i < 2; ++i) {
        object.at("saved_bytes").at(i).get_to(j.saved_bytes[i]);
        object.at("savers").at(i).get_to(j.savers[i]);
        object.at("on_one_node").at(i).get_to(j.on_one_node[i]);
    }
    object.at("resident_bytes").get_to(j.resident_bytes);
    object.at("node_tokens").get_to(j.node_tokens);
    object.at("nics").get_to(j.nics_bytes_per_second);
    object.at("copies").get_to(j.copy_bytes_per_second);
    object.at("memory").get_to(j.memory_bytes_per_second);
    object.at("gpu_watts").get_to(f.watts.gpu);
    object.at("node_watts").get_to(f.watts.node);
    object.at("fits").get_to(f.fits);
    object.at("headroom_bytes").get_to(f.headroom_bytes);
    object.at("mfu").get_to(f.mfu);
    object.at("network_share").get_to(f.network_share);
    object.at("bottleneck").get_to(f.bottleneck);
    return f;
}

}  // namespace

std::string facts_key(const json& scenario, const std::filesystem::path& folder) {
    json asks = scenario;
    for (const char* key : {"name", "reliability", "checkpoint", "storage", "seed"}) asks.erase(key);
    planning::Fingerprint all;
    all.add(sim::version());
    all.add(asks, folder);
    return all.text();
}

Facts facts_of(const scenarios::Scenario& scenario) {
    const sim::Prediction p = sim::predict(scenario, {.scale_factor = false, .advice = false});
    Facts facts;
    facts.job = p.whole_run->job;
    facts.fits = p.fits;
    facts.mfu = p.mfu;
    facts.bottleneck = sim::bottleneck(scenario, p.stages, p.step_time_s, p.planned_step_time_s);
    facts.headroom_bytes = static_cast<double>(p.capacity(0)) - static_cast<double>(p.memory.front().peak);
    for (std::size_t stage = 0; stage < p.memory.size(); ++stage)
        facts.headroom_bytes = std::min(
            facts.headroom_bytes, static_cast<double>(p.capacity(stage)) - static_cast<double>(p.memory[stage].peak));
    for (const sim::Breakdown& stage : p.stages)
        facts.network_share += (stage.tensor_comm + stage.expert_comm + stage.pipeline_comm + stage.data_comm) /
                               (p.step_time_s * static_cast<double>(p.stages.size()));
    for (const sim::GpuUse& use : p.gpu_kinds) {
        const hardware::Power watts = hardware::power_of(use.gpu);
        facts.watts.gpu += watts.gpu * use.gpus / p.gpus;
        facts.watts.node += std::max(watts.gpu, watts.node) * use.gpus / p.gpus;
    }
    return facts;
}

FactsFile::FactsFile(const std::filesystem::path& file) : file_(file) {
    std::error_code failure;
    if (file_.empty() || !std::filesystem::exists(file_, failure)) return;
    const std::string text = read_file(file_.string());
    if (!text.starts_with(head))
        throw Error(file_.string(), "", "is no file of predictions", "name another file with --cache, or remove it");
    if (const std::size_t whole = text.rfind('\n') + 1; whole < text.size())
        std::filesystem::resize_file(file_, whole, failure);  // cut off in writing
    std::size_t from = text.find('\n');
    while (from != text.npos && from + 1 < text.size()) {
        const std::size_t end = text.find('\n', from + 1);
        if (end == text.npos) break;
        const json line = json::parse(text.substr(from + 1, end - from - 1), nullptr, false);
        from = end;
        if (line.is_discarded()) continue;
        try {
            const auto key = line.at("key").get<std::string>();
            if (line.contains("plan"))
                plans_[key] = line["plan"];
            else
                facts_[key] = from_json(line.at("facts"));
        } catch (const json::exception&) {
            continue;
        }
    }
    found_ = facts_.size();
}

const Facts* FactsFile::find(const std::string& key) const {
    const auto known = facts_.find(key);
    return known == facts_.end() ? nullptr : &known->second;
}

const Facts& FactsFile::add(const std::string& key, Facts facts) {
    const Facts& kept = facts_[key] = std::move(facts);
    append({{"key", key}, {"facts", to_json(kept)}});
    return kept;
}

const json* FactsFile::find_plan(const std::string& key) const {
    const auto known = plans_.find(key);
    return known == plans_.end() ? nullptr : &known->second;
}

void FactsFile::add_plan(const std::string& key, const json& plan) {
    plans_[key] = plan;
    append({{"key", key}, {"plan", plan}});
}

void FactsFile::append(const json& line) const {
    if (file_.empty()) return;
    std::error_code failure;
    const bool fresh = !std::filesystem::exists(file_, failure);
    std::ofstream out(file_, std::ios::binary | std::ios::app);
    if (fresh) out << head << '\n';
    out << line.dump() + '\n' << std::flush;
    if (!out)
        throw Error(file_.string(), "", "cannot be written",
                    "name another file with --cache, or keep none with --no-cache");
}

}  // namespace orrery::capacity
