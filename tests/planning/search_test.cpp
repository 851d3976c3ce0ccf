// What a search finds is what simulating every plan finds.
#include "planning/search/search.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.hpp"
#include "base/file_replacement.hpp"
#include "base/read_file.hpp"
#include "base/temporary_folder.hpp"
#include "tests/planning/small_sites.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::planning {
namespace {

constexpr std::uint64_t first_seed = 7'000;
constexpr std::size_t spaces = 30;

/// A question whose rows are held so far that all its plans can be simulated.
class SmallQuestion {
public:
    explicit SmallQuestion(std::uint64_t seed) : folder_(std::make_unique<TemporaryFolder>("search")) {
        replace_file(file(), small_document(seed));
        std::mt19937_64 random(seed);
        const std::vector<std::pair<std::string, std::vector<std::string>>> choices{
            {"strategy.tensor", {"1", "2", "4"}},
            {"strategy.recompute", {"none", "selective", "full"}},
            {"strategy.cpu_offloading_num_layers", {"0", "1"}},
            {"strategy.schedule", {"1f1b", "interleaved", "gpipe", "zb-h1"}},
            {"strategy.sharding", {"none", "zero1", "zero2", "zero3"}},
            {"strategy.overlap_grad_reduce", {"false", "true"}},
            {"strategy.async_tensor_allreduce", {"true", "false"}},
            {"strategy.scatter_gather", {"true", "false"}},
            {"strategy.overlap_p2p", {"false", "true"}},
            {"strategy.placement", {"linear", "tp-cp-ep-pp-dp"}},
            {"strategy.recompute_num_layers", {"0", "1"}},
            {"strategy.recompute_modules", {"any"}},
            {"training.micro_batch_size", {"1", "2", "4"}},
            {"strategy.tp_comm_overlap", {"false", "true"}}};
        for (const auto& [key, values] : choices) {
            const std::size_t first = random() % values.size();
            std::vector<std::string> held{values[first]};
            if (random() % 3 == 0 && values.size() > 1) held.push_back(values[(first + 1) % values.size()]);
            given_.emplace_back(key, held);
        }
    }
    [[nodiscard]] std::string file() const { return (folder_->path() / "scenario.json").string(); }
    /// set, axes: of its sites.
    [[nodiscard]] SearchQuestion question(std::size_t top, std::vector<scenarios::Override> set = {},
                                          std::vector<Axis> axes = {}) const {
        return {.sites = Grid(file(), std::move(set), std::move(axes)),
                .given = given_,
                .objective = Objective::step,
                .top = top,
                .idle = 0.5};
    }
    [[nodiscard]] const auto& given() const { return given_; }

private:
    std::unique_ptr<TemporaryFolder> folder_;
    std::vector<std::pair<std::string, std::vector<std::string>>> given_;
};

/// Seconds of every plan that fits, ascending.
std::vector<double> exhaustive(const SmallQuestion& small, std::uint64_t& plans, std::uint64_t& too_large) {
    scenarios::Scenario base = scenarios::load(small.file(), {{"strategy.data", "1"}});
    const Site site(std::move(base), 0, sim::profiles());
    Space space({site.gpus, 0.5});
    for (const auto& [key, values] : small.given()) space.give(key, values);
    std::vector<double> seconds;
    strategies::Plan plan = site.scenario.plan;
    space.each(plan, 0, [&] {
        const Outcome outcome = evaluate(site.under(plan.strategy, plan.training.micro_batch), sim::profiles());
        ++plans;
        if (outcome.fits)
            seconds.push_back(outcome.step_s);
        else
            ++too_large;
    });
    std::ranges::sort(seconds);
    return seconds;
}

TEST(Search, FindsWhatSimulatingEveryPlanFinds) {
    constexpr std::size_t top = 3;
    std::uint64_t all = 0, simulated = 0;
    for (std::uint64_t seed = first_seed; seed < first_seed + spaces; ++seed) {
        const SmallQuestion small(seed);
        std::uint64_t plans = 0, too_large = 0;
        const std::vector<double> seconds = exhaustive(small, plans, too_large);
        Journal none("", {}, Journal::Start::go_on);
        if (seconds.empty()) {
            EXPECT_THROW((void)search(small.question(top), sim::profiles(), none), Error) << seed;
            continue;
        }
        const SearchResult result = search(small.question(top), sim::profiles(), none, {.threads = 2});
        EXPECT_TRUE(result.proven) << seed;
        EXPECT_EQ(result.plans, plans) << seed;
        ASSERT_EQ(result.best.size(), std::min(top, seconds.size())) << seed;
        for (std::size_t i = 0; i < result.best.size(); ++i)
            EXPECT_EQ(result.best[i].outcome.step_s, seconds[i]) << "seed " << seed << ", place " << i;
        EXPECT_EQ(result.too_large + result.excluded + result.simulated, plans);
        EXPECT_LE(result.too_large, too_large);
        all += plans;
        simulated += result.simulated;
    }
    EXPECT_GT(all, 300U) << "spaces too small to say anything";
    EXPECT_LT(2 * simulated, all) << "of all plans most are excluded";
}

/// The first question from a seed on of which some plan fits.
SmallQuestion answerable(std::uint64_t seed) {
    for (;; ++seed) {
        SmallQuestion small(seed);
        std::uint64_t plans = 0, too_large = 0;
        if (!exhaustive(small, plans, too_large).empty()) return small;
    }
}

/// The answer and its counts, to the last bit.
std::string bytes_of(const SearchResult& result) {
    std::string text = fmt::format("{} {} {} {} {}\n", result.plans, result.too_large, result.excluded,
                                   result.simulated, result.proven);
    for (const auto* list : {&result.best, &result.front})
        for (const FoundPlan& plan : *list)
            text += fmt::format("{} ", plan.number) + to_line(plan.number, {plan.outcome, {}});
    return text;
}

TEST(Search, ThreadsAndInterruptionsChangeNothing) {
    const SmallQuestion small = answerable(first_seed + 100);
    Journal none("", {}, Journal::Start::go_on);
    const std::string once = bytes_of(search(small.question(2), sim::profiles(), none, {.threads = 1}));
    EXPECT_EQ(bytes_of(search(small.question(2), sim::profiles(), none, {.threads = 4})), once);
    const TemporaryFolder folder("search");
    const std::string log = (folder.path() / "log").string();
    const Question asked{"search", "1", Journal::any};
    std::string whole;
    {
        Journal journal(log, asked, Journal::Start::go_on);
        EXPECT_EQ(bytes_of(search(small.question(2), sim::profiles(), journal, {.threads = 2})), once);
        whole = read_file(log);
    }
    for (const std::size_t part : {whole.size() / 3, whole.size() / 2, whole.size()}) {
        replace_file(log, whole.substr(0, part));
        Journal journal(log, asked, Journal::Start::go_on);
        EXPECT_EQ(bytes_of(search(small.question(2), sim::profiles(), journal, {.threads = 2})), once) << part;
    }
}

TEST(Search, SettingsOfAPlanMakeItsScenario) {
    const SmallQuestion small = answerable(first_seed + 200);
    const SearchQuestion question = small.question(3);
    Journal none("", {}, Journal::Start::go_on);
    for (const FoundPlan& plan : search(question, sim::profiles(), none).best) {
        const scenarios::Scenario scenario = scenarios::load(small.file(), settings(question, plan));
        EXPECT_EQ(evaluate(scenario, sim::profiles()), plan.outcome);
    }
}

/// Rows that nobody held: whatever they offer, what is found can be simulated as it is printed.
TEST(Search, WhatIsFoundIsAScenario) {
    using nlohmann::json;
    const auto document = [](json model, json cluster, json strategy, json training) {
        return json{{"model", std::move(model)},
                    {"cluster", std::move(cluster)},
                    {"strategy", std::move(strategy)},
                    {"training", std::move(training)}};
    };
    const json one_node{{"preset", "dgx-h100"}, {"nodes", 1}};
    const json by_heads{{"context", 2}, {"cp_comm_type", "a2a"}};
    const std::vector<std::pair<const char*, json>> questions{
        {"heads that context ranks exchange as well",
         document({{"name", "llama3-8b"}}, one_node, by_heads,
                  {{"seq_length", 4096}, {"micro_batch_size", 1}, {"global_batch_size", 8}, {"precision", "bf16"}})},
        {"a model on data ranks alone",
         document({{"name", "transformer-xl-base"}}, {{"preset", "dgx-a100"}, {"nodes", 1}}, json::object(),
                  {{"seq_length", 192},
                   {"micro_batch_size", 8},
                   {"global_batch_size", 64},
                   {"precision", "fp16"},
                   {"fused_attention", false}})},
        {"pairs that are compared all at once", document({{"name", "clip-vit-l14"}}, one_node, json::object(),
                                                         {{"seq_length", 257},
                                                          {"decoder_seq", 77},
                                                          {"micro_batch_size", 64},
                                                          {"global_batch_size", 512},
                                                          {"precision", "bf16"}})},
        {"more micro-batches of one sequence than a step may have",
         document(
             {{"name", "llama3-8b"}}, one_node, json::object(),
             {{"seq_length", 2048}, {"micro_batch_size", 64}, {"global_batch_size", 65536}, {"precision", "bf16"}})}};
    const TemporaryFolder folder("search");
    const std::string file = (folder.path() / "scenario.json").string();
    for (const auto& [what, asked] : questions) {
        SCOPED_TRACE(what);
        replace_file(file, asked.dump());
        const SearchQuestion question{
            .sites = Grid(file, {}, {}), .given = {}, .objective = Objective::step, .top = 2, .idle = 0};
        Journal none("", {}, Journal::Start::go_on);
        const SearchResult result = search(question, sim::profiles(), none, {.threads = 2});
        ASSERT_FALSE(result.best.empty());
        for (const FoundPlan& plan : result.best)
            EXPECT_EQ(evaluate(scenarios::load(file, settings(question, plan)), sim::profiles()), plan.outcome);
    }
}

/// A question on one node, whose rows are held to these values.
SearchResult asked_of_a_node(const nlohmann::json& model, const nlohmann::json& strategy,
                             const nlohmann::json& training,
                             std::vector<std::pair<std::string, std::vector<std::string>>> given) {
    const TemporaryFolder folder("search");
    const std::string file = (folder.path() / "scenario.json").string();
    const nlohmann::json cluster{{"preset", "dgx-a100"}, {"nodes", 1}};
    replace_file(
        file,
        nlohmann::json{{"model", model}, {"cluster", cluster}, {"strategy", strategy}, {"training", training}}.dump());
    Journal none("", {}, Journal::Start::go_on);
    return search({.sites = Grid(file, {}, {}), .given = std::move(given), .objective = Objective::step, .top = 2},
                  sim::profiles(), none, {.threads = 2});
}

/// Context ranks that are asked for decide which tensor ranks leave them heads, not those of the scenario.
TEST(Search, TensorRanksGoByTheContextThatIsAskedFor) {
    const nlohmann::json training{
        {"seq_length", 4096}, {"micro_batch_size", 1}, {"global_batch_size", 8}, {"precision", "bf16"}};
    const nlohmann::json strategy{{"context", 8}, {"cp_comm_type", "a2a"}};
    const std::pair<std::string, std::vector<std::string>> contexts{"strategy.context", {"1", "2"}};
    const SearchResult open = asked_of_a_node({{"name", "llama3-8b"}}, strategy, training, {contexts}),
                       held = asked_of_a_node({{"name", "llama3-8b"}}, strategy, training,
                                              {contexts, {"strategy.tensor", {"1", "2", "4", "8"}}});
    EXPECT_EQ(open.best.front().outcome, held.best.front().outcome);
    ASSERT_EQ(open.front.size(), held.front.size());
    for (std::size_t i = 0; i < open.front.size(); ++i)
        EXPECT_EQ(open.front[i].outcome.step_s, held.front[i].outcome.step_s);
}

/// Of several clusters each has the plan that it has alone, and the front leaves out what another beats.
TEST(Search, EachClusterHasItsOwnBestPlan) {
    const std::vector<Axis> axes{{"cluster.nodes", {"1", "2", "3"}}, {"training.fused_attention", {"false", "true"}}};
    std::size_t beaten = 0;
    for (std::uint64_t seed = first_seed + 300; seed < first_seed + 304; ++seed) {
        const SmallQuestion small = answerable(seed);
        Journal none("", {}, Journal::Start::go_on);
        const SearchQuestion question = small.question(1, {}, axes);
        const SearchResult all = search(question, sim::profiles(), none, {.threads = 2});
        for (const ClusterBest& each : all.clusters) {
            EXPECT_TRUE(each.proven);
            const std::vector<std::string> values = question.sites.values(each.plan.site);
            const SearchQuestion alone = small.question(1, {{axes[0].key, values[0]}, {axes[1].key, values[1]}});
            const FoundPlan best = search(alone, sim::profiles(), none).best.front();
            EXPECT_EQ(each.plan.outcome, best.outcome) << seed;
            EXPECT_NEAR(each.cost * 3600, each.time_s * each.gpus, 1e-9 * each.cost * 3600) << "GPU-hours";
            const bool is_beaten = std::ranges::any_of(all.clusters, [&](const ClusterBest& other) {
                return (other.time_s < each.time_s && other.cost <= each.cost) ||
                       (other.time_s <= each.time_s && other.cost < each.cost);
            });
            EXPECT_EQ(each.on_front, !is_beaten) << seed;
            beaten += is_beaten ? 1 : 0;
        }
        ASSERT_FALSE(all.clusters.empty());
        EXPECT_EQ(all.clusters.front().plan.outcome.step_s, all.best.front().outcome.step_s) << "same batch everywhere";
    }
    EXPECT_GT(beaten, 0U) << "clusters that say nothing of the front";
}

TEST(Space, WithoutHostsNothingIsOffloaded) {
    const SmallQuestion small(first_seed);
    strategies::Plan plan = scenarios::load(small.file(), {{"strategy.data", "1"}}).plan;
    std::uint64_t with = 0, offloaded = 0;
    Space({8, 0.5}).each(plan, 0, [&] { with += plan.strategy.cpu_offloading_num_layers > 0 ? 1 : 0; });
    Space({8, 0.5, false}).each(plan, 0, [&] { offloaded += plan.strategy.cpu_offloading_num_layers > 0 ? 1 : 0; });
    EXPECT_GT(with, 0U);
    EXPECT_EQ(offloaded, 0U);
}

TEST(Space, WhatIsNoValueOrNoRowIsRefused) {
    Space space({8});
    EXPECT_THROW(space.give("strategy.tensr", {"1"}), Error);
    for (const char* value : {"0", "-1", "two", "", "1.5", "99999999999"})
        EXPECT_THROW(space.give("strategy.tensor", {value}), Error) << value;
    EXPECT_THROW(space.give("strategy.schedule", {"fifo"}), Error);
    EXPECT_THROW(space.give("strategy.overlap_p2p", {"yes"}), Error);
}

}  // namespace
}  // namespace orrery::planning
