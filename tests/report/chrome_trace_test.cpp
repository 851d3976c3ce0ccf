#include "report/chrome_trace.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <stdexcept>
#include <tuple>

#include "tests/report/golden.hpp"
#include "tests/report/sample.hpp"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

std::string trace_text(const sim::Prediction& prediction) {
    std::string text;
    chrome_trace(sample_scenario(), prediction, [&](std::string_view piece) { text += piece; });
    return text;
}

std::int64_t nanoseconds(const Json& microseconds) { return std::llround(microseconds.get<double>() * 1e3); }

/// Events of every thread, in order of time: none begins before the one before it has ended.
void expect_no_overlap(const Json& trace) {
    std::map<std::pair<int, int>, std::map<std::pair<std::int64_t, std::int64_t>, std::string>> threads;
    for (const Json& event : trace["traceEvents"]) {
        if (event["ph"] != "X") continue;
        const std::int64_t begin = nanoseconds(event["ts"]), end = begin + nanoseconds(event["dur"]);
        threads[{event["pid"], event["tid"]}].emplace(std::pair{begin, end}, event["name"]);
    }
    ASSERT_FALSE(threads.empty());
    for (const auto& [thread, events] : threads) {
        std::int64_t last = 0;
        for (const auto& [span, name] : events) {
            EXPECT_GE(span.first, last) << name << " of thread " << thread.second;
            EXPECT_GE(span.second, span.first) << name;
            last = span.second;
        }
    }
}

TEST(ChromeTrace, IsStable) { expect_golden("trace.json", trace_text(sample_prediction())); }

TEST(ChromeTrace, HasOneSliceForEveryOperation) {
    const sim::Prediction p = sample_prediction();
    std::map<std::size_t, std::size_t> slices;
    const Json trace = Json::parse(trace_text(p));
    for (const Json& event : trace["traceEvents"])
        if (event["ph"] == "X") ++slices[event["pid"].get<std::size_t>()];
    for (std::size_t process = 0; process < p.trace.size(); ++process)
        EXPECT_EQ(slices[process + 1], p.program.programs[p.trace[process].role].ops.size());
}

TEST(ChromeTrace, NamesEveryTrackAndCategory) {
    const Json trace = Json::parse(trace_text(sample_prediction()));
    std::set<std::pair<int, int>> used, named;
    std::set<std::string> titles, categories;
    for (const Json& event : trace["traceEvents"]) {
        if (event["ph"] == "X") {
            used.insert({event["pid"].get<int>(), event["tid"].get<int>()});
            categories.insert(event["cat"].get<std::string>());
        }
        if (event["name"] == "thread_name") named.insert({event["pid"].get<int>(), event["tid"].get<int>()});
        if (event["name"] == "process_name") titles.insert(event["args"]["name"].get<std::string>());
    }
    EXPECT_EQ(used, named);
    EXPECT_EQ(titles, (std::set<std::string>{"stage 0: rank 0", "stage 1: rank 64"}));
    EXPECT_EQ(categories, (std::set<std::string>{"communication", "host", "layer", "memory-bound"}));
}

TEST(ChromeTrace, CountsMemoryForwardInTime) {
    const Json trace = Json::parse(trace_text(sample_prediction()));
    std::map<int, std::vector<std::int64_t>> times;
    std::map<int, std::uint64_t> peaks;
    for (const Json& event : trace["traceEvents"]) {
        if (event["ph"] != "C") continue;
        times[event["pid"]].push_back(nanoseconds(event["ts"]));
        peaks[event["pid"]] = std::max(peaks[event["pid"]], event["args"]["bytes"].get<std::uint64_t>());
    }
    ASSERT_EQ(times.size(), 2U);
    for (const auto& [process, list] : times) EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
    EXPECT_EQ(peaks[1], 61ULL << 30U);
}

TEST(ChromeTrace, NeighboursNeverOverlapAfterRounding) {
    const std::uint64_t seed = 20260101;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> length(1e-9, 3e-3);
    sim::Prediction p = sample_prediction(1);
    std::map<strategies::Lane, double> free;
    for (int round = 0; round < 200; ++round) {
        free.clear();
        for (std::size_t i = 0; i < p.trace[0].spans.size(); ++i) {
            double& at = free[p.program.programs[0].ops[i].lane];
            const double begin = at;
            at += length(random);
            p.trace[0].spans[i] = {begin, at};
        }
        expect_no_overlap(Json::parse(trace_text(p)));
    }
}

TEST(ChromeTrace, ShowsOneClassOfEachStage) {
    sim::Prediction p = sample_prediction();
    const std::string before = trace_text(p);
    sim::RankClass later = p.trace[0];
    later.representative = 8;
    later.spans.back().end += 1;
    p.trace.insert(p.trace.begin(), later);
    EXPECT_EQ(trace_text(p), before);
}

std::set<std::string> processes(const Json& trace) {
    std::set<std::string> titles;
    for (const Json& event : trace["traceEvents"])
        if (event["name"] == "process_name") titles.insert(event["args"]["name"].get<std::string>());
    return titles;
}

TEST(ChromeTrace, ShowsTheRanksThatAreSlowed) {
    sim::Prediction p = sample_prediction();
    sim::RankClass slow = p.trace[1];
    slow.representative = 70;
    p.trace.push_back(slow);
    scenarios::Scenario scenario = sample_scenario();
    scenario.perturbations.stragglers = {scenarios::parse_straggler("rank 70 x 1.2")};
    std::string text;
    EXPECT_EQ(chrome_trace(scenario, p, [&](std::string_view piece) { text += piece; }), "");
    EXPECT_EQ(processes(Json::parse(text)),
              (std::set<std::string>{"stage 0: rank 0", "stage 1: rank 64", "stage 1: rank 70, x 1.2"}));
}

struct Bounded {
    std::string left_out;
    Json trace;
    std::size_t slices = 0;
};

Bounded bounded_trace(const sim::Prediction& p, std::size_t most) {
    Bounded bounded;
    std::string text;
    bounded.left_out = chrome_trace(sample_scenario(), p, [&](std::string_view piece) { text += piece; },
                                    {.ranks = {}, .most_slices = most});
    bounded.trace = Json::parse(text);
    for (const Json& event : bounded.trace["traceEvents"]) bounded.slices += event["ph"] == "X" ? 1 : 0;
    EXPECT_EQ(bounded.trace["otherData"].value("left out", ""), bounded.left_out);
    return bounded;
}

TEST(ChromeTrace, OfTooManySlicesSaysWhatItLeavesOut) {
    const sim::Prediction folded = sample_prediction();
    sim::Prediction p = folded;  // every call unrolled: three operations for each, in a row
    p.program = strategies::unrolled(folded.program);
    for (sim::RankClass& ranks : p.trace) {
        ranks.spans.clear();
        for (std::size_t i = 0; i < p.program.programs[ranks.role].ops.size(); ++i)
            ranks.spans.push_back({0.01 * static_cast<double>(i), 0.01 * static_cast<double>(i + 1)});
    }
    std::size_t all = 0, calls = 0;
    for (std::size_t role = 0; role < p.trace.size(); ++role) {
        all += p.program.programs[role].ops.size();
        calls += folded.program.programs[role].ops.size();
    }
    const Bounded whole = bounded_trace(p, all), by_layer = bounded_trace(p, all - 1), cut = bounded_trace(p, 5);
    EXPECT_EQ(whole.left_out, "");
    EXPECT_EQ(whole.slices, all);
    EXPECT_NE(by_layer.left_out.find("within a layer's pass"), std::string::npos);
    EXPECT_EQ(by_layer.slices, calls) << "a layer's pass is one slice again";
    EXPECT_NE(cut.left_out.find("all that begins after "), std::string::npos);
    EXPECT_LE(cut.slices, 5U);
    EXPECT_GT(cut.slices, 0U);
    expect_no_overlap(by_layer.trace);
}

/// The sample with the times of its blocks: three operations for each call.
sim::Prediction sample_with_blocks() {
    sim::Prediction p = sample_prediction();
    p.blocks.assign(2, {{0, 0.2}, {0.2, 0.3}, {0.3, 0.5}});
    return p;
}

TEST(ChromeTrace, OpensLayersMicroBatchByMicroBatchAsFarAsThereIsRoom) {
    const sim::Prediction p = sample_with_blocks();
    const Bounded closed = bounded_trace(sample_prediction(), 1000), whole = bounded_trace(p, 1000);
    EXPECT_EQ(whole.left_out, "");
    EXPECT_EQ(whole.slices, closed.slices + 2 * 2 * 2 * 3) << "of two stages, two micro-batches, both passes";
    std::size_t inside = 0;
    for (const Json& event : whole.trace["traceEvents"]) {
        if (event["name"] != "reduce") continue;
        ++inside;
        EXPECT_EQ(event["cat"], "communication") << "of the tensor ranks";
        EXPECT_EQ(nanoseconds(event["dur"]), 40'000'000) << "stretched to the call's 100 ms";
        EXPECT_GE(event["args"]["micro_batch"], 0);
        EXPECT_EQ(event["args"]["layer"], 0);
    }
    EXPECT_EQ(inside, 8U);
    const Bounded first = bounded_trace(p, closed.slices + 12);
    EXPECT_EQ(first.slices, closed.slices + 12);
    EXPECT_EQ(first.left_out, "kernels and collectives within the layers of micro-batch 1");
    const Bounded none = bounded_trace(p, closed.slices + 11);
    EXPECT_EQ(none.slices, closed.slices);
    EXPECT_EQ(none.left_out, "kernels and collectives within the layers of micro-batches 0 to 1");
}

TEST(ChromeTrace, LeadsArrowsFromSendsToReceives) {
    const Json trace = Json::parse(trace_text(sample_prediction()));
    std::map<int, std::map<std::string, Json>> arrows;
    for (const Json& event : trace["traceEvents"])
        if (event["ph"] == "s" || event["ph"] == "f") arrows[event["id"]][event["ph"]] = event;
    ASSERT_EQ(arrows.size(), 2U) << "two micro-batches go from stage 0 to stage 1, forward";
    for (const auto& [id, ends] : arrows) {
        for (const auto& [phase, process, name] : {std::tuple{"s", 1, "send"}, std::tuple{"f", 2, "receive"}}) {
            const Json& end = ends.at(phase);
            EXPECT_EQ(end["pid"], process);
            std::size_t around = 0;
            for (const Json& slice : trace["traceEvents"])
                around += slice["ph"] == "X" && slice["pid"] == end["pid"] && slice["tid"] == end["tid"] &&
                                  slice["name"] == name && nanoseconds(slice["ts"]) <= nanoseconds(end["ts"]) &&
                                  nanoseconds(end["ts"]) < nanoseconds(slice["ts"]) + nanoseconds(slice["dur"])
                              ? 1
                              : 0;
            EXPECT_EQ(around, 1U) << "an arrow ends in a slice";
        }
    }
}

TEST(ChromeTrace, ShowsTheRanksThatWereAskedFor) {
    const sim::Prediction p = sample_prediction();
    std::string text;
    chrome_trace(sample_scenario(), p, [&](std::string_view piece) { text += piece; }, {.ranks = {64}});
    EXPECT_EQ(processes(Json::parse(text)), std::set<std::string>{"stage 1: rank 64"});
    EXPECT_THROW(chrome_trace(sample_scenario(), p, [](std::string_view) {}, {.ranks = {65}}), std::invalid_argument)
        << "one of rank 64's class";
}

TEST(ChromeTrace, RefusesATraceOfAnotherProgram) {
    sim::Prediction p = sample_prediction();
    p.trace[1].spans.pop_back();
    EXPECT_THROW(trace_text(p), std::invalid_argument);
    p.trace.clear();
    EXPECT_THROW(trace_text(p), std::invalid_argument);
}

}  // namespace
}  // namespace orrery::report
