#include "report/explain.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/report/golden.hpp"
#include "tests/report/sample.hpp"
#include "topology/catalog.hpp"
#include "topology/dgx.hpp"

namespace orrery::report {
namespace {

/// A profile of a few round points: every time it gives can be checked by hand.
calibrate::Profile profile() {
    const calibrate::Provenance origin{"test device", "fixed", "2026-01-01", "none", "written by hand", "CC0-1.0"};
    calibrate::Profile p;
    p.name = "tiny";
    p.device = "test device";
    p.made_by = "hand";
    calibrate::GemmTable gemm{kernels::Dtype::bf16, origin, {}};
    for (const std::uint32_t m : {1024U, 8192U, 16384U})
        for (const std::uint32_t n : {1024U, 2304U, 8192U})
            for (const std::uint32_t k : {1024U, 6144U, 8192U})
                gemm.points.push_back({m, n, k, static_cast<float>(2.0 * m * n * k / 200e12)});
    p.gemm = {gemm};
    for (int kind = 0; kind < kernels::pointwise_kinds; ++kind)
        p.pointwise.push_back(
            {static_cast<kernels::PointwiseKind>(kind), origin, {{1e5, 0, 1e12}, {1e8, 0, 1e12}, {1e9, 0, 1e12}}});
    for (const std::uint32_t ranks : {2U, 4U, 8U})
        p.collectives.push_back(
            {kernels::CollectiveKind::all_reduce, ranks, origin, {{1e6, 20e-6}, {16e6, 160e-6}, {1e9, 10e-3}}});
    const std::string by_hand = "written by hand";
    p.constants = {
        {"peak_half_flops", {312e12, "FLOP/s", by_hand}}, {"memory_bytes_per_second", {2039e9, "B/s", by_hand}},
        {"sustained_gemm", {1, "share", by_hand}},        {"kernel_gap_seconds", {1e-6, "s", by_hand}},
        {"launch_seconds", {5e-6, "s", by_hand}},         {"collective_launch_seconds", {5e-6, "s", by_hand}},
        {"overlap_slowdown", {1.1, "factor", by_hand}},   {"network_efficiency", {0.9, "share", by_hand}}};
    return p;
}

class ExplainTest : public testing::Test {
protected:
    [[nodiscard]] std::string of_rank(std::uint32_t rank) const {
        return explain(sample_scenario(), sample_prediction(),
                       {predictor_, topology::find_gpu("A100-SXM4-80GB"), node_}, rank);
    }
    calibrate::Profile profile_ = profile();
    calibrate::Predictor predictor_{profile_};
    topology::NodePlan node_ = topology::build_node(topology::find_node("dgx-a100"), 8, 8);
};

TEST_F(ExplainTest, ShowsProgramKernelsTransfersAndConstants) {
    const std::string text = of_rank(0);
    for (const char* part : {"rank 0 runs stage 0", "program stage 0", "block layer forward",
                             "gemm bf16 1x8192x2304x6144", "all_reduce over tensor", "all_reduce over data",
                             "its span on the simulated network", "overlap_slowdown", "written by hand"})
        EXPECT_NE(text.find(part), std::string::npos) << part << " is missing from\n" << text;
}

TEST_F(ExplainTest, SaysWhereAKernelsTimeComesFrom) {
    const kernels::Kernel gemm = kernels::Gemm{.m = 8192, .n = 2304, .k = 6144};
    const std::string why = predictor_.explain(gemm);
    const std::string last_line = why.substr(why.find_last_of('\n', why.find_last_not_of('\n')) + 1);
    ASSERT_FALSE(last_line.empty());
    EXPECT_NE(of_rank(0).find(last_line), std::string::npos) << why;
}

/// What the step makes of the profile's time is a line behind it, here of 128 boards, of which the slowest is waited
/// for.
TEST_F(ExplainTest, SaysWhatTheStepMakesOfIt) {
    EXPECT_EQ(of_rank(0).find("board_spread)"), std::string::npos);
    profile_.constants["board_spread"] = {0.01, "1", "by hand"};
    EXPECT_NE(of_rank(0).find("  the slowest of the ranks' boards (board_spread): x1.02"), std::string::npos);
}

TEST_F(ExplainTest, TakesTheProgramOfTheRanksRole) {
    EXPECT_NE(of_rank(64).find("rank 64 runs stage 1"), std::string::npos);
    EXPECT_NE(of_rank(64).find("receive -1 along pipeline"), std::string::npos);
    EXPECT_EQ(of_rank(63).find("receive -1 along pipeline"), std::string::npos);
}

TEST_F(ExplainTest, RefusesARankThatDoesNotExist) {
    try {
        (void)of_rank(128);
        FAIL() << "rank 128 of 128 was accepted";
    } catch (const Error& error) {
        EXPECT_NE(error.message().find("no rank 128"), std::string::npos) << error.what();
        EXPECT_EQ(error.hint(), "choose 0 to 127");
    }
}

}  // namespace
}  // namespace orrery::report
