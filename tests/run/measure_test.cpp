// What surrounds the executor: files, clocks, statistics, progress, memory.
#include "run/measure.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/error.hpp"
#include "kernels/number_format.hpp"
#include "run/clock.hpp"
#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/run/ranks.hpp"
#include "tests/scenarios/expect_error.hpp"

namespace orrery::run {
namespace {

namespace fs = std::filesystem;

RunPlan small() {
    RunPlan plan{"small", small_plan(2, 4), {}};
    plan.settings.steps = 6;
    plan.settings.warmup = 2;
    return plan;
}

class Here {
public:
    Here() : path_(fs::temp_directory_path() / ("orrery-run-test-" + std::to_string(::getpid()))) {
        fs::create_directories(path_);
    }
    ~Here() { fs::remove_all(path_); }
    fs::path operator/(const char* name) const { return path_ / name; }

private:
    fs::path path_;
};

TEST(PlanFile, IsReadAsItWasWritten) {
    RunPlan plan = small();
    plan.plan.strategy.recompute = strategies::Recompute::full;
    plan.settings.adam.rate = 0.1 + 0.2;
    const std::string text = to_json(plan);
    const RunPlan back = plan_from_json(text, "plan.json");
    EXPECT_EQ(to_json(back), text);
    EXPECT_EQ(back.plan.model, plan.plan.model);
    EXPECT_EQ(back.plan.strategy.recompute, strategies::Recompute::full);
    EXPECT_EQ(back.settings.adam.rate, plan.settings.adam.rate);
}

TEST(PlanFile, RefusesWhatIsNone) {
    const std::string text = to_json(small());
    for (const std::string& bad :
         {std::string(), std::string("{}"), std::string("[1]"), text.substr(0, text.size() / 2)})
        EXPECT_THROW(plan_from_json(bad, "plan.json"), Error) << bad;
    std::string other = text;
    other.replace(other.find("\"plan_version\": 3"), 17, "\"plan_version\": 9");
    EXPECT_THROW(plan_from_json(other, "plan.json"), Error);
}

/// Two clocks, one 3 s ahead; messages take random times, never less than 10 us.
TEST(Clock, FindsTheOffsetWithinItsUncertainty) {
    constexpr std::uint64_t seed = 11;
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::exponential_distribution<double> delay(1 / 50e-6);
    constexpr double offset = 3.0;
    std::vector<double> first_stamps, first_afters, stamps, afters;
    double time = 100;
    for (int round = 0; round < 40; ++round) {
        const double a = time + delay(random), b = time + delay(random);
        first_stamps.push_back(a);
        stamps.push_back(b + offset);
        first_afters.push_back(std::max(a, b + 10e-6 + delay(random)));
        afters.push_back(std::max(b, a + 10e-6 + delay(random)) + offset);
        time += 1e-3;
    }
    const ClockOffset found = offset_between(first_stamps, first_afters, stamps, afters);
    EXPECT_LE(std::abs(found.seconds - offset), found.uncertainty);
    EXPECT_GT(found.uncertainty, 0);
    EXPECT_LT(found.uncertainty, 100e-6);
}

TEST(Progress, OutlivesItsRank) {
    const Here here;
    const fs::path file = progress_file(here / "ranks", 3);
    EXPECT_FALSE(read_progress(file));
    {
        Progress progress(file);
        progress.record().state = RankState::running;
        progress.record().step = 7;
        progress.record().item[0] = 42;
        progress.fail("out of memory");
    }
    const auto trace = read_progress(file);
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->state, RankState::failed);
    EXPECT_EQ(trace->step, 7U);
    EXPECT_EQ(trace->item[0], 42U);
    EXPECT_EQ(trace->message, "out of memory");
    EXPECT_EQ(trace->pid, ::getpid());
    std::ofstream(file) << "short";
    EXPECT_FALSE(read_progress(file));
}

TEST(Measure, TimesStepsAlone) {
    const Here here;
    const auto device = kernels::open_device("cpu");
    const MeasuredRun run = measure(*device, nullptr, small(), {.steps_only = true});
    EXPECT_EQ(run.steps.size(), 6U);
    EXPECT_GT(run.step_seconds(), 0);
    EXPECT_LT(run.steps.back().loss.value(), run.steps.front().loss.value());
    EXPECT_TRUE(run.ranks.at(0).ops.empty());
    save(run, here / "run.json");
    EXPECT_EQ(load_measured(here / "run.json").step_seconds(), run.step_seconds());
}

/// Cores share the making of large parameters: each element is what it is by itself.
TEST(Parameters, BeginAsTheirNamesAndPlacesSay) {
    strategies::Plan plan = small_plan(1, 4);
    plan.model.vocab = 4096;
    plan.model.hidden = 256;
    plan.model.head_dim = 128;
    plan.training.precision.compute = kernels::Dtype::bf16;
    const strategies::StepProgram program = strategies::build(plan);
    const auto device = kernels::open_device("cpu");
    const RunSettings settings;
    Executor executor(*device, nullptr, plan, program, settings);
    const Parameters& parameters = executor.model().parameters();
    std::uint64_t largest = 0;
    for (const Slice& slice : parameters.slices()) {
        const InitialValues initial(slice, settings.seed);
        std::uint64_t at = parameters.offset(slice.name);
        largest = std::max(largest, slice.elements());
        for (const auto& [first, count] : slice.rows)
            for (std::uint64_t i = 0; i < count * slice.cols; ++i, ++at) {
                const auto value =
                    static_cast<float>(initial.at(first + i / slice.cols, slice.first_col + i % slice.cols));
                std::uint16_t found = 0;
                std::memcpy(&found, parameters.weight(at), sizeof found);
                ASSERT_EQ(found, kernels::to_bf16(static_cast<double>(value))) << slice.name << " " << i;
            }
    }
    EXPECT_GT(largest, std::uint64_t{1} << 19U) << "too small to be shared among cores";
}

TEST(Measure, TimesEveryOperationOfOneRank) {
    const Here here;
    const auto device = kernels::open_device("cpu");
    Progress progress(here / "rank-0");
    const RunPlan plan = small();
    const MeasuredRun run = measure(*device, nullptr, plan, {&progress, nullptr});
    const auto step = strategies::unrolled(strategies::build(plan.plan));
    ASSERT_EQ(run.ranks.size(), 1U);
    ASSERT_EQ(run.ranks[0].ops.size(), step.programs[0].ops.size());
    EXPECT_EQ(run.steps.size(), 6U);
    EXPECT_LT(run.steps.back().loss.value(), run.steps.front().loss.value());
    EXPECT_EQ(progress.record().item[0], step.programs[0].ops.size());
    double last = 0;
    for (std::size_t i = 0; i < run.ranks[0].ops.size(); ++i) {
        const OpTimes& op = run.ranks[0].ops[i];
        EXPECT_GE(op.begin, 0);
        EXPECT_GE(op.end, op.begin);
        EXPECT_GE(op.device, 0);
        last = std::max(last, op.end);
    }
    EXPECT_GT(run.step_seconds(), 0);
    EXPECT_GT(run.ranks[0].overhead, 0);
    save(run, here / "run.json");
    const MeasuredRun back = load_measured(here / "run.json");
    EXPECT_EQ(back.step_seconds(), run.step_seconds());
    EXPECT_EQ(back.ranks[0].ops.back().end, run.ranks[0].ops.back().end);
    std::ofstream(here / "run.json") << "{\"run_version\": 1}";
    EXPECT_THROW(load_measured(here / "run.json"), Error);
}

/// What a damaged or invented file of measurements is told.
TEST(Measure, ReadsMeasurementsStrictly) {
    const Here here;
    const fs::path file = here / "measured.json";
    MeasuredRun run;
    run.warmup = 1;
    run.steps = {{0.5, 3.0}, {0.25, std::nullopt}};
    run.ranks.resize(1);
    run.ranks[0].host = "here";
    run.ranks[0].ops = {{0, 1, 1, 1, 0}, {1, 2, 1, 1, 0}};
    save(run, file);
    EXPECT_EQ(load_measured(file).ranks[0].ops.size(), 2U);
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto refused = [&](const std::string& from, const std::string& to, const char* pointer) {
        std::string bad = text;
        ASSERT_NE(bad.find(from), bad.npos) << from;
        bad.replace(bad.find(from), from.size(), to);
        std::ofstream(file) << bad;
        scenarios::expect_error([&] { (void)load_measured(file); }, pointer, "");
    };
    refused("\"warmup\":1", "\"warmup\":4294967298", "/warmup");
    refused("\"warmup\":1", "\"warmup\":1.5", "/warmup");
    refused("\"warmup\":1", "\"warmup\":1,\"warmup\":1", "/warmup");
    refused("\"warmup\":1", "\"warmup\":1,\"warm_up\":1", "/warm_up");
    refused("\"seconds\":0.5", "\"seconds\":1e999", "");
    refused("\"seconds\":0.5", "\"seconds\":-0.5", "/steps/0/seconds");
    refused("\"end_s\":[1.0,2.0]", "\"end_s\":[1.0]", "/ranks/0/end_s");
    refused("\"end_s\":[1.0,2.0]", "\"end_s\":[1.0,null]", "/ranks/0/end_s/1");
    refused("\"host\":\"here\"", "\"host\":7", "/ranks/0/host");
    refused("\"memory_bytes\":[0,0,0,0,0]", "\"memory_bytes\":[0,0,0,0]", "/ranks/0/memory_bytes");
}

TEST(Measure, RefusesStepsThatAreAllWarmUp) {
    const auto device = kernels::open_device("cpu");
    RunPlan plan = small();
    plan.settings.warmup = plan.settings.steps;
    EXPECT_THROW(measure(*device, nullptr, plan), Error);
}

/// A rate so high that the weights overflow.
TEST(Measure, StopsAtALossThatIsNoNumber) {
    const auto device = kernels::open_device("cpu");
    RunPlan plan = small();
    plan.settings.adam.rate = 1e30;
    EXPECT_THROW(measure(*device, nullptr, plan), kernels::DeviceError);
}

TEST(Memory, HeldIsCloseToPredicted) {
    using kernels::Dtype;
    for (const auto& [recompute, compute, sums] : {std::tuple(strategies::Recompute::none, Dtype::fp32, Dtype::fp32),
                                                   {strategies::Recompute::full, Dtype::fp32, Dtype::fp32},
                                                   {strategies::Recompute::none, Dtype::bf16, Dtype::fp32},
                                                   {strategies::Recompute::full, Dtype::bf16, Dtype::bf16}}) {
        RunPlan plan = small();
        plan.plan.strategy.recompute = recompute;
        plan.plan.training.precision = {compute, sums};
        plan.plan.training.software = hardware::Software::orrery;
        // Wide enough that activations decide, and not small tables and alignment.
        plan.plan.model.hidden = 128;
        plan.plan.model.ffn = 512;
        plan.plan.model.head_dim = 64;
        plan.plan.model.vocab = 256;
        plan.plan.training.seq = plan.plan.model.max_positions = 64;
        const Trained trained = train(plan.plan, plan.settings, 1);
        const auto held = static_cast<double>(trained.memory[0].total());
        const auto predicted = static_cast<double>(strategies::memory(strategies::build(plan.plan), 0).peak);
        EXPECT_NEAR(held / predicted, 1, 0.03) << kernels::name(compute);
    }
}

}  // namespace
}  // namespace orrery::run
