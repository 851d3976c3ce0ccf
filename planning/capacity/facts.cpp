#include "planning/capacity/facts.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/error.hpp"
#include "planning/fingerprint.hpp"
#include "reliability/goodput.hpp"
#include "sim/bottleneck.hpp"
#include "sim/mean_power.hpp"
#include "sim/predict.hpp"
#include "sim/version.hpp"

namespace orrery::capacity {

namespace {

using nlohmann::json;

constexpr const char* otherwise = "name another file with --cache, or keep none with --no-cache";
constexpr const char* head = R"({"orrery": "capacity predictions", "version": 1})";

using Pair = double[2];
using CountPair = std::uint32_t[2];
/// Where a value of some facts stands.
using Place = std::variant<double*, std::uint32_t*, bool*, std::string*, Pair*, CountPair*>;

struct Field {
    const char* name;
    Place (*of)(Facts& facts);
};
constexpr Field fields[] = {
    {"step_s", [](Facts& f) -> Place { return &f.job.step_s; }},
    {"steps", [](Facts& f) -> Place { return &f.job.steps; }},
    {"nodes", [](Facts& f) -> Place { return &f.job.nodes; }},
    {"gpus", [](Facts& f) -> Place { return &f.job.gpus; }},
    {"idle_gpus", [](Facts& f) -> Place { return &f.job.idle_gpus; }},
    {"replicas", [](Facts& f) -> Place { return &f.job.replicas; }},
    {"per_node", [](Facts& f) -> Place { return &f.job.per_node; }},
    {"micro_batches", [](Facts& f) -> Place { return &f.job.micro_batches; }},
    {"parameters", [](Facts& f) -> Place { return &f.job.parameters; }},
    {"saved_bytes", [](Facts& f) -> Place { return &f.job.saved_bytes; }},
    {"base_bytes", [](Facts& f) -> Place { return &f.job.base_bytes; }},
    {"resident_bytes", [](Facts& f) -> Place { return &f.job.resident_bytes; }},
    {"savers", [](Facts& f) -> Place { return &f.job.savers; }},
    {"on_one_node", [](Facts& f) -> Place { return &f.job.on_one_node; }},
    {"node_tokens", [](Facts& f) -> Place { return &f.job.node_tokens; }},
    {"nics", [](Facts& f) -> Place { return &f.job.nics_bytes_per_second; }},
    {"copies", [](Facts& f) -> Place { return &f.job.copy_bytes_per_second; }},
    {"memory", [](Facts& f) -> Place { return &f.job.memory_bytes_per_second; }},
    {"gpu_watts", [](Facts& f) -> Place { return &f.watts.gpu; }},
    {"node_watts", [](Facts& f) -> Place { return &f.watts.node; }},
    {"cluster_gpus", [](Facts& f) -> Place { return &f.cluster_gpus; }},
    {"fits", [](Facts& f) -> Place { return &f.fits; }},
    {"headroom_bytes", [](Facts& f) -> Place { return &f.headroom_bytes; }},
    {"mfu", [](Facts& f) -> Place { return &f.mfu; }},
    {"network_share", [](Facts& f) -> Place { return &f.network_share; }},
    {"bottleneck", [](Facts& f) -> Place { return &f.bottleneck; }},
};

json to_json(Facts facts) {
    json object;
    for (const Field& field : fields)
        std::visit([&](const auto* value) { object[field.name] = *value; }, field.of(facts));
    return object;
}

Facts from_json(const json& object) {
    Facts facts;
    for (const Field& field : fields)
        std::visit([&](auto* value) { object.at(field.name).get_to(*value); }, field.of(facts));
    return facts;
}

/// Whether the step itself reads and writes its nodes' drives.
bool uses_drives(const json& scenario) {
    const json strategy = scenario.value("strategy", json::object());
    for (const char* key : {"offload_param_device", "offload_optimizer_device"})
        if (const auto said = strategy.find(key); said != strategy.end() && *said == "nvme") return true;
    return false;
}

}  // namespace

std::string facts_key(const json& scenario, const std::filesystem::path& folder) {
    json asks = scenario;
    for (const char* key : {"name", "reliability", "checkpoint", "seed"}) asks.erase(key);
    if (!uses_drives(scenario)) asks.erase("storage");
    planning::Fingerprint all;
    all.add(sim::version());
    all.add(asks, folder);
    return all.text();
}

Facts facts_of(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles, sim::Session& session) {
    const sim::Prediction p = sim::predict(
        scenario, profiles, {.scale_factor = false, .advice = false, .allocator = false, .session = &session});
    Facts facts;
    facts.job = p.whole_run->job;
    facts.watts = sim::mean_power(p);
    facts.cluster_gpus = session.site(scenario, profiles)->cluster.gpus();
    facts.fits = p.fits;
    facts.mfu = p.mfu;
    facts.bottleneck = sim::bottleneck(scenario, p.stages, p.step_time_s, p.planned_step_time_s);
    facts.headroom_bytes = p.spare(p.fullest_stage());
    for (const sim::Breakdown& stage : p.stages)
        facts.network_share += (stage.tensor_comm + stage.expert_comm + stage.pipeline_comm + stage.data_comm) /
                               (p.step_time_s * static_cast<double>(p.stages.size()));
    return facts;
}

FactsFile::FactsFile(const std::filesystem::path& file) : file_(file) {
    if (file_.empty()) return;
    log_ = std::make_unique<AppendLog>(file_, "another capacity question", otherwise);
    read(log_->text());
}

FactsFile::~FactsFile() {
    if (log_ && facts_.empty() && plans_.empty()) log_->remove();
}

void FactsFile::read(const std::string& text) {
    const std::string first = std::string(head) + '\n';
    if (!text.starts_with(first)) {
        if (!first.starts_with(text))
            throw Error(file_.string(), "", "is no file of predictions",
                        "name another file with --cache, or remove it");
        log_->keep(0);  // new, or cut off in writing
        log_->append(first);
        return;
    }
    std::size_t from = first.size();
    for (std::size_t end = 0; (end = text.find('\n', from)) != text.npos; from = end + 1) {
        const json line = json::parse(text.substr(from, end - from), nullptr, false);
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
    if (from < text.size()) log_->keep(from);  // cut off in writing
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

void FactsFile::append(const json& line) {
    if (!log_) return;
    try {
        log_->append(line.dump() + '\n');
    } catch (const Error& error) {
        throw Error(error.file(), "", error.message(), otherwise);
    }
}

}  // namespace orrery::capacity
