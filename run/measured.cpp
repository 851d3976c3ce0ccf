#include "run/measured.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file_replacement.hpp"
#include "base/read_file.hpp"

namespace orrery::run {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
constexpr int version = 3;
constexpr std::uint64_t most_measured_bytes = std::uint64_t{4} << 30U;  // times of every operation of every rank

/// Linear between the neighbouring order statistics.
double quantile(const std::vector<double>& sorted, double share) {
    if (sorted.empty()) return 0;
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

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
            {"begin_s", begin},
            {"end_s", end},
            {"seconds", seconds},
            {"device_s", device},
            {"spread_s", spread}};
}

MeasuredRank rank_of(const Json& in) {
    MeasuredRank rank;
    in.at("rank").get_to(rank.rank);
    in.at("host").get_to(rank.host);
    in.at("device").get_to(rank.device);
    in.at("software").get_to(rank.software);
    const Json& memory = in.at("memory_bytes");
    rank.memory = {memory.at(0), memory.at(1), memory.at(2), memory.at(3), memory.at(4)};
    in.at("clock_offset_s").get_to(rank.clock_offset);
    in.at("clock_uncertainty_s").get_to(rank.clock_uncertainty);
    in.at("overhead_s").get_to(rank.overhead);
    in.at("empty_s").get_to(rank.empty);
    for (std::size_t i = 0; i < in.at("begin_s").size(); ++i)
        rank.ops.push_back({in.at("begin_s").at(i), in.at("end_s").at(i), in.at("seconds").at(i),
                            in.at("device_s").at(i), in.at("spread_s").at(i)});
    return rank;
}

std::vector<double> counted(const MeasuredRun& run) {
    std::vector<double> seconds;
    for (std::size_t i = run.warmup; i < run.steps.size(); ++i) seconds.push_back(run.steps[i].seconds);
    return seconds;
}

}  // namespace

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return quantile(values, 0.5);
}

double half_quartile_range(std::vector<double> values) {
    std::ranges::sort(values);
    return (quantile(values, 0.75) - quantile(values, 0.25)) / 2;
}

double MeasuredRun::step_seconds() const { return median(counted(*this)); }
double MeasuredRun::step_spread() const { return half_quartile_range(counted(*this)); }

std::string rank_to_json(const MeasuredRank& rank) { return json_of(rank).dump(); }
MeasuredRank rank_from_json(const std::string& text) { return rank_of(Json::parse(text)); }

std::string to_json(const MeasuredRun& run) {
    Json steps = Json::array(), ranks = Json::array();
    for (const MeasuredStep& step : run.steps)
        steps.push_back({{"seconds", step.seconds}, {"loss", step.loss ? Json(*step.loss) : Json(nullptr)}});
    for (const MeasuredRank& rank : run.ranks) ranks.push_back(json_of(rank));
    const Json document{
        {"run_version", version}, {"warmup", run.warmup}, {"nodes", run.nodes}, {"communication", run.communication},
        {"alone", run.alone},     {"steps", steps},       {"ranks", ranks}};
    return document.dump();
}

void save(const MeasuredRun& run, const fs::path& file) { replace_file(file, to_json(run)); }

MeasuredRun load_measured(const fs::path& file) {
    const std::string text = read_file(file, "orrery-device run writes it", most_measured_bytes);
    try {
        const Json document = Json::parse(text);
        if (document.at("run_version") != version)
            throw Error(file.string(), "/run_version", "is another version",
                        "orrery and orrery-device must be of the same build");
        MeasuredRun run;
        document.at("warmup").get_to(run.warmup);
        document.at("nodes").get_to(run.nodes);
        document.at("communication").get_to(run.communication);
        document.at("alone").get_to(run.alone);
        for (const Json& step : document.at("steps")) {
            run.steps.push_back({step.at("seconds"), std::nullopt});
            if (const Json& loss = step.at("loss"); !loss.is_null()) run.steps.back().loss = loss.get<double>();
        }
        for (const Json& rank : document.at("ranks")) run.ranks.push_back(rank_of(rank));
        return run;
    } catch (const Json::exception& error) {
        throw Error(file.string(), "", std::string("is no measured run: ") + error.what(),
                    "orrery-device run writes such files");
    }
}

}  // namespace orrery::run
