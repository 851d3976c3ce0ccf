// A whole calibration on a pretended device: budget, resume, stop, failures, and the profile that comes of it.
#include "calibrate/measure/campaign.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "calibrate/measure/assemble.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/profile_json.hpp"
#include "tests/calibrate/pretended_device.hpp"

namespace orrery::calibrate {
namespace {

namespace fs = std::filesystem;

class CampaignTest : public testing::Test {
protected:
    CampaignTest()
        : log_(fs::temp_directory_path() / ("orrery-campaign-" + std::to_string(::getpid()) + "-" +
                                            testing::UnitTest::GetInstance()->current_test_info()->name() + ".log")) {
        fs::remove(log_);
        hooks_.surroundings = device_.surroundings();
        hooks_.kernel_fault = [](kernels::Device&, const kernels::Kernel&) { return std::string(); };
    }
    ~CampaignTest() override { fs::remove(log_); }

    Plan plan(std::initializer_list<const char*> suites, double budget) const {
        Plan plan;
        for (const char* name : suites) plan.suites.push_back(&suite_named(name));
        plan.budget_seconds = budget;
        plan.dtypes = {kernels::Dtype::fp32};
        plan.rule = {.target = 0.01, .max_samples = 40, .max_seconds = 0.02};
        return plan;
    }
    Outcome run(const Plan& plan, LogContent& content) {
        LogWriter writer(log_, fingerprint(device_, nullptr), LogWriter::Start::go_on);
        content = writer.found();
        return Campaign(device_, nullptr, plan, hooks_).run(content, &writer);
    }
    [[nodiscard]] std::string text() const {
        std::ifstream in(log_);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    PretendedDevice device_{{.kind = "cpu", .noise = 0.005, .cold_factor = 1.1}};
    Hooks hooks_;
    fs::path log_;
};

const std::vector<Subject> three{
    kernels::Kernel(kernels::Gemm{kernels::Dtype::fp32, 1, 64, 96, 128}),
    kernels::Kernel(kernels::Pointwise{kernels::PointwiseKind::add, kernels::Dtype::fp32, 8, 64}),
    CopyShape{kernels::CopyKind::device_to_device, 4096}};

TEST_F(CampaignTest, MeasuresListedPointsWhateverTheBudget) {
    Plan only = plan({}, 0);
    only.points = three;
    LogContent content;
    EXPECT_EQ(run(only, content).measured, 3U);
    ASSERT_EQ(content.records.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(content.records[i].subject, three[i]);
}

TEST_F(CampaignTest, GoesOnWhereItWasStopped) {
    Plan listed = plan({}, 0);
    listed.points = three;
    int asked = 0;
    hooks_.stop = [&] { return ++asked > 2; };
    LogContent content;
    const Outcome first = run(listed, content);
    EXPECT_TRUE(first.stopped);
    EXPECT_EQ(first.measured, 2U);
    const std::string before = text();
    hooks_.stop = [] { return false; };
    const Outcome second = run(listed, content);
    EXPECT_FALSE(second.stopped);
    EXPECT_EQ(second.measured, 1U);
    EXPECT_EQ(second.resumed, 2U);
    EXPECT_EQ(text().substr(0, before.size()), before);  // what was measured stays as it was
    EXPECT_EQ(read_log(log_).records.size(), 3U);
}

TEST_F(CampaignTest, LeavesOutALineThatWasCutOff) {
    Plan listed = plan({}, 0);
    listed.points = three;
    LogContent content;
    (void)run(listed, content);
    const std::string whole = text();
    fs::resize_file(log_, whole.size() - 20);
    EXPECT_EQ(read_log(log_).records.size(), 2U);
    EXPECT_EQ(run(listed, content).measured, 1U);
    EXPECT_EQ(read_log(log_).records.size(), 3U);
}

TEST_F(CampaignTest, RefusesADamagedLogAndAnotherDevice) {
    {
        LogContent content;
        Plan listed = plan({}, 0);
        listed.points = three;
        (void)run(listed, content);
    }
    Fingerprint other = fingerprint(device_, nullptr);
    other.device = "another device";
    EXPECT_THROW(LogWriter(log_, other, LogWriter::Start::go_on), Error);
    other = fingerprint(device_, nullptr);
    other.software = "newer driver";
    EXPECT_THROW(LogWriter(log_, other, LogWriter::Start::go_on), Error);
    std::string damaged = text();
    damaged[damaged.find('\n') + 5] = '}';
    std::ofstream(log_) << damaged;
    try {
        (void)read_log(log_);
        FAIL() << "a damaged line was read";
    } catch (const Error& error) {
        EXPECT_NE(error.message().find("line 2"), std::string::npos) << error.what();
    }
}

TEST_F(CampaignTest, ReadsALogStrictly) {
    Plan listed = plan({}, 0);
    listed.points = three;
    LogContent content;
    (void)run(listed, content);
    const std::string whole = text();
    const auto message = [&](const std::string& from, const std::string& to) -> std::string {
        std::string damaged = whole;
        const std::size_t at = damaged.find(from);
        EXPECT_NE(at, damaged.npos) << from;
        std::ofstream(log_) << damaged.replace(at, from.size(), to);
        try {
            (void)read_log(log_);
            return "accepted";
        } catch (const Error& error) {
            return error.what();
        }
    };
    const auto expect = [&](const std::string& from, const std::string& to, const std::string& mention) {
        const std::string said = message(from, to);
        EXPECT_NE(said.find(mention), std::string::npos) << said;
    };
    expect("\"nodes\":1", "\"nodes\":1,\"nodes\":2", "/nodes: line 1: the key \"nodes\" appears twice");
    expect("\"nodes\":1", "\"nodes\":4294967298", "4294967298 is out of range");
    expect("\"nodes\":1", "\"nodes\":1,\"node\":1", "unknown key \"node\"");
    expect("\"throttled\":0", "\"throttled\":0.5", "0.5 is not a whole number");
    expect("\"settled\":true", "\"settled\":1", "/settled: line 2: 1 is neither true nor false");
    expect("\"throttled\":0", "\"throttled\":0,\"note\":\"\"", "unknown key \"note\"");
}

TEST_F(CampaignTest, BeginsAgainWhereTheFirstLineWasCutOff) {
    Plan listed = plan({}, 0);
    listed.points = three;
    LogContent content;
    (void)run(listed, content);
    const std::string whole = text();
    for (const std::size_t left : {std::size_t{0}, std::size_t{1}, std::size_t{5}, whole.find('\n')}) {
        fs::resize_file(log_, left);
        EXPECT_EQ(LogWriter(log_, fingerprint(device_, nullptr), LogWriter::Start::go_on).began_again(), left > 0);
        EXPECT_EQ(run(listed, content).measured, 3U);
        EXPECT_EQ(read_log(log_).records.size(), 3U);
    }
}

TEST_F(CampaignTest, NeverTouchesAFileThatIsNoLog) {
    for (const char* precious : {"my notes", "{\"cache\": 1}\n", "\n"})
        for (const auto start : {LogWriter::Start::go_on, LogWriter::Start::afresh}) {
            std::ofstream(log_) << precious;
            EXPECT_THROW(LogWriter(log_, fingerprint(device_, nullptr), start), Error);
            EXPECT_EQ(text(), precious);
        }
}

TEST_F(CampaignTest, OneWriterAtATime) {
    const Fingerprint own = fingerprint(device_, nullptr);
    {
        LogWriter first(log_, own, LogWriter::Start::go_on);
        const std::string before = text();
        for (const auto start : {LogWriter::Start::go_on, LogWriter::Start::afresh}) {
            try {
                LogWriter second(log_, own, start);
                FAIL() << "two writers";
            } catch (const Error& error) {
                EXPECT_NE(error.message().find("another calibration"), std::string::npos) << error.what();
            }
        }
        EXPECT_EQ(text(), before);
    }
    EXPECT_NO_THROW(LogWriter(log_, own, LogWriter::Start::go_on));
}

TEST_F(CampaignTest, NamesAWrongKernelAndDoesNotTimeIt) {
    hooks_.kernel_fault = [](kernels::Device&, const kernels::Kernel& kernel) {
        return std::holds_alternative<kernels::Gemm>(kernel) ? "wrong result: c is off by 3" : "";
    };
    Plan listed = plan({}, 0);
    listed.points = three;
    LogContent content;
    const Outcome outcome = run(listed, content);
    ASSERT_EQ(outcome.failures.size(), 1U);
    EXPECT_NE(outcome.failures[0].find("gemm fp32 1x64x96x128: wrong result"), std::string::npos);
    EXPECT_EQ(outcome.measured, 2U);
    EXPECT_TRUE(assemble(content, "test", 0).profile.gemm.empty());
}

TEST_F(CampaignTest, KeepsToItsBudget) {
    LogContent content;
    const Outcome outcome = run(plan({"pointwise", "copy", "collective"}, 2), content);
    EXPECT_LT(device_.surroundings().wall_seconds(), 4);
    EXPECT_GT(outcome.measured, 20U);
    ASSERT_EQ(outcome.skipped.size(), 1U);
    EXPECT_NE(outcome.skipped[0].find("collective: needs several ranks"), std::string::npos);
}

TEST_F(CampaignTest, MakesAProfileThatPredictsTheDevice) {
    LogContent content;
    (void)run(plan({"gemm", "pointwise", "copy"}, 60), content);
    const Profile profile = assemble(content, "pretended", 0.25).profile;
    const fs::path file = log_.string() + ".json";
    save_profile(profile, file);
    const Profile loaded = load_profile(file);
    fs::remove(file);
    EXPECT_FALSE(loaded.copies.empty());
    EXPECT_TRUE(loaded.noise.contains("gemm"));
    EXPECT_EQ(loaded.load->after, 0.25);
    const Predictor predictor(loaded);
    Bench bench;
    bench.device = &device_;
    bench.dtypes = {kernels::Dtype::fp32};
    bench.seconds_per_point = 0.02;
    std::vector<double> errors;
    for (const auto& gemm : random_gemms(bench, kernels::Dtype::fp32, 100, 77)) {
        const Estimate estimate = predictor.kernel(gemm);
        EXPECT_GT(estimate.uncertainty, 0);
        // The middle of hot and cold, which are the same for what no cache holds.
        const double truth = PretendedDevice::seconds_of(gemm) * (device_.stays_cached(gemm) ? 1.05 : 1.1);
        errors.push_back(std::abs(estimate.seconds / truth - 1));
    }
    std::ranges::sort(errors);
    EXPECT_LT(errors[50], 0.02);
    EXPECT_LT(errors[90], 0.06);
}

TEST_F(CampaignTest, SameSeedSamePoints) {
    Bench bench;
    bench.device = &device_;
    bench.dtypes = {kernels::Dtype::fp32};
    EXPECT_EQ(gemm_grid(bench), gemm_grid(bench));
    EXPECT_EQ(random_gemms(bench, kernels::Dtype::fp32, 20, 1), random_gemms(bench, kernels::Dtype::fp32, 20, 1));
    EXPECT_NE(random_gemms(bench, kernels::Dtype::fp32, 20, 1), random_gemms(bench, kernels::Dtype::fp32, 20, 2));
}

TEST_F(CampaignTest, ADamagedReadingIsLeftOutAndNamed) {
    Plan listed = plan({}, 0);
    for (std::uint64_t bytes = 4096; bytes <= 1U << 20U; bytes *= 4)
        listed.points.emplace_back(CopyShape{kernels::CopyKind::device_to_device, bytes});
    LogContent content;
    (void)run(listed, content);
    content.records[2].seconds *= 500;
    const Assembled assembled = assemble(content, "test", 0);
    ASSERT_EQ(assembled.dropped.size(), 1U);
    EXPECT_NE(assembled.dropped[0].find("copy device_to_device, row 2"), std::string::npos) << assembled.dropped[0];
    EXPECT_EQ(assembled.profile.copies[0].points.size(), listed.points.size() - 1);
}

/// Two readings of one size have no curve between them: the last one counts.
TEST_F(CampaignTest, WhatWasMeasuredTwiceCountsOnce) {
    LogContent content;
    (void)run(plan({"pointwise", "copy"}, 5), content);
    const Assembled once = assemble(content, "test", 0);
    const std::vector<Record> first = content.records;
    content.records.insert(content.records.end(), first.begin(), first.end());
    for (std::size_t i = 0; i < first.size(); ++i) content.records[i].seconds *= 3;
    const Assembled twice = assemble(content, "test", 0);
    EXPECT_EQ(to_json_text(twice.profile), to_json_text(once.profile));
}

/// Rows of a GPU's products begin at 16 bytes; one that was listed counts wherever it begins, others do not.
TEST(Assemble, ProductsBetweenSixteenBytesStandApart) {
    LogContent content;
    content.fingerprint.kind = "cuda";
    content.fingerprint.device = "a GPU";
    const auto add = [&](std::uint32_t n, const char* suite) {
        Record record;
        record.subject = kernels::Kernel(kernels::Gemm{kernels::Dtype::bf16, 1, 64, n, 64, kernels::GemmPass::forward});
        record.suite = suite;
        record.seconds = 4e-6;
        content.records.push_back(record);
    };
    add(64, "gemm"), add(65, "gemm"), add(67, "points");
    const Profile profile = assemble(content, "test", 0).profile;
    ASSERT_EQ(profile.gemm.size(), 1U);
    std::vector<std::uint32_t> found;
    for (const GemmPoint& point : profile.gemm[0].points) found.push_back(point.n);
    EXPECT_EQ(found, (std::vector<std::uint32_t>{64, 67}));
}

/// A gap that the shortest kernel is no longer than leaves nothing of it: it is half of that kernel then.
TEST(Assemble, TheGapLeavesEveryKernelSomething) {
    LogContent content;
    content.fingerprint.kind = "cuda";
    content.fingerprint.device = "a GPU";
    Record gap, kernel;
    gap.subject = OverheadShape{OverheadShape::Kind::gap};
    gap.seconds = 2.7e-6;
    kernel.subject = kernels::Kernel(kernels::Pointwise{kernels::PointwiseKind::fill, kernels::Dtype::bf16, 8, 256});
    kernel.seconds = 2e-6;
    content.records = {gap, kernel};
    const Profile profile = assemble(content, "test", 0).profile;
    EXPECT_DOUBLE_EQ(profile.constants.at("kernel_gap_seconds").value, 1e-6);
    const double bytes = kernels::bytes(std::get<kernels::Kernel>(kernel.subject));
    EXPECT_NEAR(profile.pointwise.at(0).points.at(0).bytes_per_second, bytes / 1e-6, bytes / 1e-6 * 1e-6);
}

TEST(Assemble, NeedsAMeasurement) { EXPECT_THROW((void)assemble({}, "empty", 0), Error); }

TEST(WorstGap, LiesBesideThePointThatIsPredictedWorst) {
    const std::vector<SweepPoint> sweep{{1e3, 10}, {1e4, 11}, {1e5, 40}, {1e6, 130}};
    const double at = worst_gap(sweep, 0.05);
    EXPECT_GT(at, 1e4);
    EXPECT_LT(at, 1e6);
    EXPECT_EQ(worst_gap(std::vector<SweepPoint>{{1, 1}, {2, 2}, {3, 3}}, 0.05), 0);
}

}  // namespace
}  // namespace orrery::calibrate
