#include "run/measured.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file_replacement.hpp"
#include "base/read_file.hpp"
#include "base/statistics.hpp"
#include "documents/document.hpp"
#include "documents/message.hpp"
#include "documents/value.hpp"

namespace orrery::run {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
constexpr int version = 3;
constexpr std::uint64_t most_measured_bytes = std::uint64_t{4} << 30U;  // times of every operation of every rank

Json json_of(const MeasuredRank& rank) {
    Json begin = Json::array(), end = Json::array(), seconds = Json::array(), device = Json::array(),
         spread = Json::array();
    for (const OpTimes& op : rank.ops) {
        begin.push_back(op.begin);
        end.push_back(op.end);
        seconds.push_back(op.seconds);
        device.push_back(op.device);
        spread.push_back(op.spread);
    }
    return {{"rank", rank.rank},
            {"host", rank.host},
            {"device", rank.device},
            {"software", rank.software},
            {"memory_bytes",
             {rank.memory.weights, rank.memory.gradients, rank.memory.optimizer, rank.memory.activations,
              rank.memory.host}},
            {"clock_offset_s", rank.clock_offset},
            {"clock_uncertainty_s", rank.clock_uncertainty},
            {"overhead_s", rank.overhead},
            {"empty_s", rank.empty},
            {"queueing_s", rank.queueing},
            {"begin_s", begin},
            {"end_s", end},
            {"seconds", seconds},
            {"device_s", device},
            {"spread_s", spread}};
}

constexpr const char* remedy = "orrery-device run writes such files";

/// A column of as many finite numbers as the rank has operations.
std::vector<double> column(const documents::Value& in, const char* key, std::size_t rows) {
    const documents::Value values = in.at(key);
    values.expect_size(rows);
    return values.numbers();
}

MeasuredRank rank_of(const documents::Value& in) {
    in.only({"rank", "host", "device", "software", "memory_bytes", "clock_offset_s", "clock_uncertainty_s",
             "overhead_s", "empty_s", "queueing_s", "begin_s", "end_s", "seconds", "device_s", "spread_s"});
    MeasuredRank rank;
    rank.rank = in.at("rank").count32();
    rank.host = in.at("host").text();
    rank.device = in.at("device").text();
    rank.software = in.at("software").text();
    const documents::Value memory = in.at("memory_bytes");
    memory.expect_size(5);
    const auto held = [&](std::size_t kind) { return memory.at(kind).count(); };
    rank.memory = {held(0), held(1), held(2), held(3), held(4)};
    rank.clock_offset = in.at("clock_offset_s").number();
    rank.clock_uncertainty = in.at("clock_uncertainty_s").number();
    rank.overhead = in.at("overhead_s").number();
    rank.empty = in.at("empty_s").number();
    rank.queueing = in.at("queueing_s").number(0);
    const std::size_t ops = in.at("begin_s").size();
    const auto begin = column(in, "begin_s", ops), end = column(in, "end_s", ops), seconds = column(in, "seconds", ops),
               device = column(in, "device_s", ops), spread = column(in, "spread_s", ops);
    for (std::size_t i = 0; i < ops; ++i) rank.ops.push_back({begin[i], end[i], seconds[i], device[i], spread[i]});
    return rank;
}

std::vector<double> counted(const MeasuredRun& run) {
    std::vector<double> seconds;
    for (std::size_t i = run.warmup; i < run.steps.size(); ++i) seconds.push_back(run.steps[i].seconds);
    return seconds;
}

MeasuredStep step_of(const documents::Value& step) {
    step.only({"seconds", "loss", "loss_scale", "skipped"});
    MeasuredStep read;
    read.seconds = step.at("seconds").number(0);
    if (!step.at("loss").is_null()) read.loss = step.at("loss").number();
    if (!step.has("loss_scale")) return read;
    read.loss_scale = step.at("loss_scale").number(0);
    read.skipped = step.at("skipped").boolean();
    return read;
}

}  // namespace

nlohmann::ordered_json json_of(const MeasuredStep& step) {
    nlohmann::ordered_json json{{"seconds", step.seconds}};
    json["loss"] = step.loss ? nlohmann::ordered_json(*step.loss) : nlohmann::ordered_json(nullptr);
    if (!step.loss_scale) return json;
    json["loss_scale"] = *step.loss_scale;
    json["skipped"] = step.skipped;
    return json;
}

double MeasuredRun::step_seconds() const { return median(counted(*this)); }
double MeasuredRun::step_spread() const { return half_quartile_range(counted(*this)); }

std::string rank_to_json(const MeasuredRank& rank) { return json_of(rank).dump(); }
MeasuredRank rank_from_json(const std::string& text) {
    const Json document = documents::parse_document(text, "", {.example = remedy});
    return rank_of({document, "", remedy});
}

std::string to_json(const MeasuredRun& run) {
    Json steps = Json::array(), ranks = Json::array();
    for (const MeasuredStep& step : run.steps) steps.push_back(Json(json_of(step)));
    for (const MeasuredRank& rank : run.ranks) ranks.push_back(json_of(rank));
    Json document{
        {"run_version", version}, {"warmup", run.warmup}, {"nodes", run.nodes}, {"communication", run.communication},
        {"alone", run.alone},     {"steps", steps},       {"ranks", ranks}};
    if (!run.plan.empty()) document["plan"] = Json::parse(run.plan);
    if (run.seed) document["seed"] = *run.seed;
    return document.dump();
}

void save(const MeasuredRun& run, const fs::path& file) { replace_file(file, to_json(run)); }

MeasuredRun load_measured(const fs::path& file) {
    const std::string text = read_file(file, "orrery-device run writes it", most_measured_bytes);
    const Json document = documents::parse_document(text, file.string(), {.example = remedy});
    const documents::Value in(document, file.string(), remedy);
    if (in.at("run_version").count() != version)
        in.at("run_version").fail("is another version", "orrery and orrery-device must be of the same build");
    in.only({"run_version", "warmup", "nodes", "communication", "alone", "steps", "ranks", "plan", "seed"});
    MeasuredRun run;
    run.warmup = in.at("warmup").count32();
    run.nodes = in.at("nodes").count32();
    run.communication = in.at("communication").text();
    run.alone = in.at("alone").boolean();
    for (const documents::Value& step : in.at("steps").list()) {
        run.steps.push_back(step_of(step));
    }
    if (run.steps.empty()) in.at("steps").fail("is empty");
    for (const documents::Value& rank : in.at("ranks").list()) run.ranks.push_back(rank_of(rank));
    if (run.ranks.empty()) in.at("ranks").fail("is empty");
    if (in.has("plan")) run.plan = in.at("plan").json().dump(-1, ' ', false, Json::error_handler_t::replace);
    if (in.has("seed")) run.seed = in.at("seed").count();
    return run;
}

void require_plan(const MeasuredRun& run, const std::string& plan, std::uint64_t seed, const fs::path& file) {
    constexpr const char* same = "give the scenario, with every --set, that its --plan was written of";
    if (run.seed && *run.seed != seed)
        throw Error(file.string(), "/seed", fmt::format("{} in the run, and {} in this scenario", *run.seed, seed),
                    same);
    if (run.plan.empty()) return;
    const Json ran = Json::parse(run.plan).flatten(), asked = Json::parse(plan).flatten();
    const auto differs = [&](const Json& one, const Json& other) -> std::optional<std::string> {
        for (const auto& [pointer, value] : one.items())
            if (!other.contains(pointer) || other[pointer] != value) return pointer;
        return std::nullopt;
    };
    auto pointer = differs(ran, asked);
    if (!pointer) pointer = differs(asked, ran);
    if (!pointer) return;
    const auto in = [&](const Json& of) {
        return of.contains(*pointer) ? documents::shown(of[*pointer]) : std::string("not there");
    };
    throw Error(file.string(), "/plan" + documents::printable(*pointer),
                fmt::format("{} in the plan that ran, and {} in this scenario", in(ran), in(asked)), same);
}

}  // namespace orrery::run
