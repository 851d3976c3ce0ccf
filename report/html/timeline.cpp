#include "report/html/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "report/operation.hpp"
#include "report/passes.hpp"
#include "report/trace_tracks.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;
using strategies::Op;

/// Numbers of all passes: some 25 bytes of text each.
constexpr std::size_t most_passes = 24'000;

std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

/// Labels and patterns of all tracks, each once.
class Words {
public:
    explicit Words(const strategies::StepProgram& step) : step_(step) {}

    std::size_t label(const Op& op) {
        Json entry{{"text", step_.names[op.label.name]}, {"colour", hue(step_, op)}};
        if (const auto* call = std::get_if<strategies::Call>(&op.what); call != nullptr) entry["block"] = call->block;
        entry["what"] = describe(step_, op);
        return number(labels_, entry.dump(), labels);
    }

    /// Whole pass: named by its phase.
    std::size_t pass_label(const Op& op) {
        return number(labels_, Json{{"text", name(op.label.phase)}, {"colour", hue(step_, op)}}.dump(), labels);
    }

    /// Passes of one micro-batch after another differ by less than a rounding: times are counted in steps of 10 ns.
    std::int64_t pattern(const strategies::Program& program, const std::vector<sim::Span>& spans, const Pass& pass) {
        Json numbers = Json::array();
        for (const std::uint32_t i : pass.ops) {
            const Op& op = program.ops[i];
            numbers.push_back(rounded(spans[i].begin - pass.begin));
            numbers.push_back(rounded(spans[i].end - spans[i].begin));
            numbers.push_back(op.label.layer);
            numbers.push_back(label(op));
        }
        return static_cast<std::int64_t>(number(patterns_, numbers.dump(), patterns));
    }

    Json labels = Json::array(), patterns = Json::array();

private:
    static std::int64_t rounded(double seconds) { return 10 * std::llround(seconds * 1e8); }

    static std::size_t number(std::map<std::string, std::size_t>& known, const std::string& text, Json& list) {
        const auto [place, is_new] = known.emplace(text, list.size());
        if (is_new) list.push_back(Json::parse(text));
        return place->second;
    }

    const strategies::StepProgram& step_;
    std::map<std::string, std::size_t> labels_, patterns_;
};

Json numbers_of(const std::vector<Pass>& lane, const strategies::Program& program, const std::vector<sim::Span>& spans,
                Words& words) {
    Json numbers = Json::array();
    for (const Pass& pass : lane) {
        const Op& first = program.ops[pass.ops.front()];
        const bool several = pass.ops.size() > 1 || first.label.layer >= 0;
        numbers.push_back(nanoseconds(pass.begin));
        numbers.push_back(nanoseconds(pass.end) - nanoseconds(pass.begin));
        numbers.push_back(several ? words.pass_label(first) : words.label(first));
        numbers.push_back(first.label.micro_batch);
        numbers.push_back(several ? words.pattern(program, spans, pass) : -1);
    }
    return numbers;
}

/// Evenly spaced, the first and the last among them.
std::vector<Track> some_of(const std::vector<Track>& all, std::size_t most) {
    if (all.size() <= most) return all;
    std::vector<Track> some;
    for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * (all.size() - 1) / (most - 1)]);
    return some;
}

std::vector<Track> shown_tracks(const scenarios::Scenario& scenario, const sim::Prediction& p) {
    const Tracks tracks = trace_tracks(scenario.perturbations.stragglers, p);
    std::size_t each = 1;
    for (const Track& track : tracks.shown) {
        const sim::RankClass& ranks = p.trace[track.rank_class];
        std::size_t sum = 0;
        for (const auto& lane : passes(p.program.programs[ranks.role], ranks.spans)) sum += lane.size();
        each = std::max(each, sum);
    }
    return some_of(tracks.shown, std::clamp<std::size_t>(most_passes / each, 2, 24));
}

/// The operations of each block as one call runs them.
Json blocks(const sim::Prediction& p) {
    Json list = Json::object();
    for (std::size_t block = 0; block < p.blocks.size(); ++block) {
        const strategies::Program& program = p.program.blocks[block];
        Json ops = Json::array();
        double end = 0;
        for (std::size_t i = 0; i < p.blocks[block].size(); ++i) {
            const sim::Span& span = p.blocks[block][i];
            const Op& op = program.ops[i];
            ops.push_back({p.program.names[op.label.name], category(p.program, op), nanoseconds(span.begin),
                           nanoseconds(span.end - span.begin)});
            end = std::max(end, span.end);
        }
        if (!ops.empty()) list[std::to_string(block)] = {{"duration_ns", nanoseconds(end)}, {"ops", std::move(ops)}};
    }
    return list;
}

Json lanes_of(const sim::Prediction& p, const sim::RankClass& ranks, Words& words) {
    const strategies::Program& program = p.program.programs[ranks.role];
    const auto lanes = passes(program, ranks.spans);
    Json list = Json::array();
    for (std::size_t lane = 0; lane < lanes.size(); ++lane)
        if (!lanes[lane].empty())
            list.push_back({{"name", name(static_cast<strategies::Lane>(lane))},
                            {"passes", numbers_of(lanes[lane], program, ranks.spans, words)}});
    return list;
}

}  // namespace

Json timeline(const scenarios::Scenario& scenario, const sim::Prediction& p) {
    const std::vector<Track> shown = shown_tracks(scenario, p);
    Words words(p.program);
    Json tracks = Json::array();
    for (const Track& track : shown)
        tracks.push_back(
            {{"title", track.title}, {"stage", track.stage}, {"lanes", lanes_of(p, p.trace[track.rank_class], words)}});
    const std::size_t all = trace_tracks(scenario.perturbations.stragglers, p).shown.size();
    return {{"step_ns", nanoseconds(p.step_time_s)},
            {"tracks", std::move(tracks)},
            {"labels", std::move(words.labels)},
            {"patterns", std::move(words.patterns)},
            {"blocks", blocks(p)},
            {"left_out", shown.size() < all ? fmt::format("{} of {} ranks", all - shown.size(), all) : ""}};
}

}  // namespace orrery::report
