// What the predictor promises: measured values come back, and what lies between them is sane.
#include "calibrate/predictor.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"
#include "calibrate/predict_gemm.hpp"
#include "tests/calibrate/small_profile.hpp"

namespace orrery::calibrate {
namespace {

using kernels::Attention;
using kernels::CollectiveKind;
using kernels::Dtype;
using kernels::Gemm;
using kernels::Pointwise;
using kernels::PointwiseKind;

TEST(PredictGemm, ReturnsMeasuredTimes) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    for (const auto& p : profile.gemm[0].points) {
        const Estimate answer = predictor.kernel(Gemm{Dtype::bf16, 1, p.m, p.n, p.k});
        EXPECT_NEAR(answer.seconds / p.seconds, 1.0, 1e-5) << p.m << "x" << p.n << "x" << p.k;
        EXPECT_FALSE(answer.extrapolated);
    }
}

TEST(PredictGemm, TakesTheSame16BitTableForBothFormats) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    EXPECT_EQ(predictor.kernel(Gemm{Dtype::fp16, 1, 700, 800, 900}).seconds,
              predictor.kernel(Gemm{Dtype::bf16, 1, 700, 800, 900}).seconds);
}

TEST(PredictGemm, InterpolatesBetweenNeighbours) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    const double between = predictor.kernel(Gemm{Dtype::bf16, 1, 2048, 1024, 1024}).seconds;
    // The table is 4 us + flops / 50 TFLOP/s everywhere.
    EXPECT_NEAR(between / (4e-6 + 2.0 * 2048 * 1024 * 1024 / 50e12), 1.0, 0.05);
}

TEST(PredictGemm, KeepsTheEfficiencyOutsideTheTable) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    const Gemm large{Dtype::bf16, 1, 4096, 2048, 1U << 17U};
    const Estimate answer = predictor.kernel(large);
    EXPECT_TRUE(answer.extrapolated);
    EXPECT_NEAR(kernels::flops(large) / answer.seconds / 50e12, 1.0, 0.1);
}

TEST(PredictGemm, ScalesOtherFormatsByTheirPeak) {
    Profile profile = small_profile();
    profile.constants["peak_single_flops"] = {10e12, "flop/s", "test"};
    const Predictor predictor(profile);
    const Estimate half = predictor.kernel(Gemm{Dtype::bf16, 1, 4096, 2048, 2048});
    const Estimate single = predictor.kernel(Gemm{Dtype::fp32, 1, 4096, 2048, 2048});
    EXPECT_EQ(single.derived, "products from those of another format");
    EXPECT_NEAR(single.seconds / half.seconds, 10.0, 0.6);
}

TEST(PredictGemm, CapsTheRateOfALongRun) {
    Profile profile = small_profile();
    const Gemm best{Dtype::bf16, 1, 4096, 2048, 2048}, modest{Dtype::bf16, 1, 256, 512, 512};
    const double burst = Predictor(profile).kernel(best).seconds, small = Predictor(profile).kernel(modest).seconds;
    profile.constants["sustained_gemm"].value = 0.8;
    EXPECT_NEAR(Predictor(profile).kernel(best).seconds / burst, 1 / 0.8, 1e-4);
    EXPECT_EQ(Predictor(profile).kernel(modest).seconds, small);
}

TEST(PredictGemm, CapsOtherFormatsByTheirOwnRate) {
    Profile profile = small_profile();
    GemmTable fp8 = profile.gemm[0];
    fp8.dtype = Dtype::fp8;
    profile.gemm.push_back(fp8);
    const Gemm best{Dtype::fp8, 1, 4096, 2048, 2048};
    const double burst = Predictor(profile).kernel(best).seconds;
    profile.constants["sustained_gemm"].value = 0.5;
    EXPECT_NEAR(Predictor(profile).kernel(best).seconds / burst, 2, 1e-4);
    profile.constants["sustained_fp8"] = {0.8, "1", "test"};
    EXPECT_NEAR(Predictor(profile).kernel(best).seconds / burst, 1 / 0.8, 1e-4);
}

TEST(PredictStateSpace, ScansComputeBesideMovingTheirBytes) {
    using enum kernels::StateSpaceKind;
    Profile profile = small_profile();
    const auto kernel = [](kernels::StateSpaceKind kind) {
        return kernels::StateSpace{kind, Dtype::bf16, 1, 4096, 64, 64, 1, 128, 256};
    };
    const auto seconds = [&](kernels::StateSpaceKind kind) { return Predictor(profile).kernel(kernel(kind)).seconds; };
    profile.constants["peak_single_flops"] = {20e12, "flop/s", "test"};
    profile.constants["state_space_products"] = {2, "1", "test"};
    const double scan = seconds(chunk_scan), decays = seconds(decay);
    profile.constants["state_space_products"].value = 1;
    EXPECT_NEAR(seconds(chunk_scan) - scan, kernels::flops(kernel(chunk_scan)) / 40e12, 1e-9 * scan);
    EXPECT_EQ(seconds(decay), decays) << "which forms no products";
    profile.constants.erase("state_space_products");
    EXPECT_LT(seconds(chunk_scan), scan) << "the longer of the two";
    EXPECT_EQ(seconds(decay), decays);
}

TEST(PredictStateSpace, ConvolutionsReachAShareOfTheirBytesRate) {
    Profile profile = small_profile();
    const auto seconds = [&](kernels::StateSpaceKind kind) {
        return Predictor(profile).kernel(kernels::StateSpace{kind, Dtype::bf16, 1, 4096, 64, 64, 1, 128, 4}).seconds;
    };
    using enum kernels::StateSpaceKind;
    const double forward = seconds(convolution), backward = seconds(convolution_backward);
    profile.constants["state_space_convolution"] = {0.25, "1", "test"};
    EXPECT_DOUBLE_EQ(seconds(convolution), 4 * forward);
    EXPECT_DOUBLE_EQ(seconds(convolution_backward), 4 * backward);
}

TEST(PredictGemm, IsSlowerWhereRowsBeginBetweenWords) {
    using enum kernels::GemmPass;
    Profile profile = small_profile();
    const auto longer = [&](const Gemm& gemm) {
        const double before = Predictor(profile).kernel(gemm).seconds;
        Profile with = profile;
        with.constants["unaligned_gemm"] = {0.5, "1", "test"};
        return Predictor(with).kernel(gemm).seconds / before;
    };
    EXPECT_EQ(longer({Dtype::bf16, 1, 1023, 1000, 512, forward}), 1) << "rows of k and of n";
    EXPECT_EQ(longer({Dtype::bf16, 1, 1024, 1001, 512, forward}), 2);
    EXPECT_EQ(longer({Dtype::bf16, 1, 1024, 1000, 513, forward}), 2);
    EXPECT_EQ(longer({Dtype::fp16, 1, 1023, 1000, 512, data_gradient}), 1) << "rows of k and of n";
    EXPECT_EQ(longer({Dtype::fp16, 1, 1024, 1000, 513, data_gradient}), 2);
    EXPECT_EQ(longer({Dtype::fp16, 1, 1024, 1000, 513, weight_gradient}), 1) << "rows of m and of n";
    EXPECT_EQ(longer({Dtype::fp16, 1, 1023, 1000, 512, weight_gradient}), 2);
    profile.constants["peak_single_flops"] = {10e12, "flop/s", "test"};
    EXPECT_EQ(longer({Dtype::fp32, 1, 1024, 1001, 513, forward}), 1) << "a word each";
    EXPECT_EQ(longer({Dtype::bf16, 1, 1024, 1002, 512, forward}), 1) << "at words of four bytes";
    const Gemm even{Dtype::bf16, 1, 1024, 1002, 512, forward};
    const double before = Predictor(profile).kernel(even).seconds;
    profile.constants["partly_aligned_gemm"] = {0.25, "1", "test"};
    EXPECT_EQ(Predictor(profile).kernel(even).seconds, 4 * before) << "and not at 16";
    EXPECT_EQ(longer({Dtype::bf16, 1, 1024, 1000, 512, forward}), 1);
}

/// On 108 multiprocessors, of which 12 are left to another kernel.
TEST(PredictGemm, TakesLongerOnFewerMultiprocessors) {
    Profile profile = small_profile();
    Gemm gemm{Dtype::bf16, 1, 2048, 1024, 1024};
    const auto seconds = [&] { return Predictor(profile).kernel(gemm).seconds; };
    profile.constants["multiprocessors"] = {108, "1", "test"};
    const double all = seconds();
    gemm.spared = 12;
    EXPECT_DOUBLE_EQ(seconds() / all, 108.0 / 96);
    EXPECT_NE(GemmPredictor(profile).explain(gemm).find("on 12 multiprocessors fewer: x1.12"), std::string::npos);
    profile.constants.erase("multiprocessors");
    const double unknown = seconds();
    gemm.spared = 0;
    EXPECT_EQ(seconds(), unknown) << "how many there are is not known";
}

/// Where a profile has no table of fp4, a quarter of the elements along k in 16 bits moves as many bytes.
TEST(PredictGemm, TakesWiderProductsForFp4) {
    const Profile profile = small_profile();
    const GemmPredictor without(profile);
    const Gemm fp4{Dtype::fp4, 1, 512, 512, 2048};
    EXPECT_EQ(without.stand_in(fp4), (Gemm{Dtype::bf16, 1, 512, 512, 512}));
    Profile with = profile;
    with.gemm.push_back(profile.gemm[0]);
    with.gemm.back().dtype = Dtype::fp8;
    EXPECT_EQ(GemmPredictor(with).stand_in(fp4), (Gemm{Dtype::fp8, 1, 512, 512, 1024}));
    with.gemm.back().dtype = Dtype::fp4;
    EXPECT_EQ(GemmPredictor(with).stand_in(fp4), fp4);
}

TEST(PredictPointwise, IsNoFasterThanALongStream) {
    Profile profile = small_profile();
    const Pointwise add{PointwiseKind::add, Dtype::bf16, 8192, 8192};
    const double table = Predictor(profile).kernel(add).seconds;
    profile.constants["sustained_memory"] = {0.25, "1", "test"};
    const Predictor slow(profile);
    EXPECT_DOUBLE_EQ(slow.kernel(add).seconds, kernels::bytes(add) / 0.25e12);
    EXPECT_GT(slow.kernel(add).seconds, table);
    EXPECT_EQ(slow.at_table_clock(add).seconds, table);
    EXPECT_NE(slow.explain(add).find("no faster than a long stream: 250 GB/s"), std::string::npos);
}

/// A table of its own counts; else 2,646 of 3,350 GB/s of the datasheet's 1,000, where long streams were read.
TEST(PredictPointwise, RowsAtAddressesOfTheirOwnAreSlowerThanAStream) {
    Profile profile = small_profile();
    profile.pointwise[0].points.push_back({1e9, 0, 9e11});
    const Pointwise permute{PointwiseKind::permute, Dtype::bf16, 65536, 8192},
        add{PointwiseKind::add, Dtype::bf16, 65536, 8192};
    EXPECT_NEAR(Predictor(profile).kernel(permute).seconds, kernels::bytes(permute) / 9e11, 1e-15);
    profile.constants["sustained_memory"] = {0.88, "1", "test"};
    const Predictor predictor(profile);
    EXPECT_DOUBLE_EQ(predictor.kernel(permute).seconds, kernels::bytes(permute) / (2646.0 / 3350.0 * 1e12));
    EXPECT_DOUBLE_EQ(predictor.kernel(add).seconds, kernels::bytes(add) / 0.88e12);
    EXPECT_NE(predictor.explain(permute).find("long stream of rows: 790 GB/s"), std::string::npos);
    PointwiseTable own = profile.pointwise[0];
    own.kind = PointwiseKind::permute;
    profile.pointwise.push_back(own);
    EXPECT_DOUBLE_EQ(Predictor(profile).kernel(permute).seconds, kernels::bytes(permute) / 0.88e12);
}

TEST(PredictGemm, PaysTheTrafficOfEveryProductOfABatch) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    const Gemm scores{Dtype::bf16, 64, 1024, 1024, 64};
    const Estimate answer = predictor.kernel(scores);
    EXPECT_GT(answer.seconds, kernels::bytes(scores) / 1e12);
    EXPECT_LT(answer.seconds, 64 * predictor.kernel(Gemm{Dtype::bf16, 1, 1024, 1024, 64}).seconds);
}

TEST(PredictGemm, NeedsATable) {
    Profile profile = small_profile();
    profile.gemm.clear();
    EXPECT_THROW((void)Predictor(profile).kernel(Gemm{Dtype::bf16, 1, 8, 8, 8}), Error);
}

TEST(PredictAttention, ReturnsMeasuredTimesAndDerivesTheBackwardPass) {
    Profile profile = small_profile();
    profile.constants["attention_backward_rate"] = {0.8, "1", "test"};
    const Predictor predictor(profile);
    for (const auto& p : profile.attention[0].points) {
        Attention shape{Dtype::bf16, false, true, p.batch, p.seq, p.heads, p.kv_heads, p.head_dim};
        const double forward = predictor.kernel(shape).seconds;
        EXPECT_NEAR(forward / p.seconds, 1.0, 1e-5);
        shape.backward = true;
        const Estimate backward = predictor.kernel(shape);
        EXPECT_NEAR(backward.seconds / forward, 2.5 / 0.8, 1e-6);
        EXPECT_FALSE(backward.extrapolated) << "inside the measured range";
        EXPECT_EQ(backward.derived, "attention backward from forward");
    }
}

/// Blocks of queries fill a GPU, however few the heads: published rows of an A100 end at 16,384 tokens, where two heads
/// have too few of them.
TEST(PredictAttention, FewHeadsCatchUpWithManyBeyondTheLongestRow) {
    const Profile profile = load_profile("scenarios/profiles/a100.json");
    const Predictor predictor(profile);
    const auto rate = [&](std::uint32_t heads, std::uint32_t seq) {
        const Attention attention{Dtype::bf16, false, true, 1, seq, heads, heads, 128};
        return kernels::flops(attention) / predictor.at_table_clock(attention).seconds;
    };
    const double longest = rate(2, 16384);
    EXPECT_LT(longest, 0.8 * rate(32, 16384));
    EXPECT_NEAR(rate(2, 16400) / longest, 1, 0.02) << "no step behind the row";
    double before = longest;
    for (std::uint32_t seq = 32768; seq <= 1U << 20; seq *= 2) {
        EXPECT_GE(rate(2, seq), 0.99 * before) << seq;
        before = rate(2, seq);
    }
    EXPECT_NEAR(before / rate(32, 16384), 1, 0.1) << "a million tokens have as many blocks";
}

/// Nor is a longer sequence slower than the longest: rows of more heads may be.
TEST(PredictAttention, LongerSequencesAreNoSlowerThanTheLongest) {
    for (const char* name : {"a100", "h100", "h200", "b200", "gb300"}) {
        const Profile profile = load_profile(std::string("scenarios/profiles/") + name + ".json");
        const Predictor predictor(profile);
        for (const std::uint32_t heads : {4U, 8U, 32U, 64U}) {
            const auto rate = [&](std::uint32_t seq) {
                const Attention attention{Dtype::bf16, false, true, 1, seq, heads, heads, 128};
                return kernels::flops(attention) / predictor.at_table_clock(attention).seconds;
            };
            for (std::uint32_t seq = 32768; seq <= 1U << 20; seq *= 2)
                EXPECT_GE(rate(seq), 0.99 * rate(16384)) << name << ' ' << heads << ' ' << seq;
        }
    }
}

TEST(PredictAttention, NeedsATable) {
    Profile profile = small_profile();
    profile.attention.clear();
    EXPECT_THROW((void)Predictor(profile).kernel(Attention{Dtype::bf16, false, true, 1, 64, 8, 8, 64}), Error);
}

TEST(PredictPointwise, FollowsTheMeasuredBandwidth) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    const Pointwise ten_mb{PointwiseKind::add, Dtype::bf16, 1000, 10000 / 6 + 1};
    const double bytes = kernels::bytes(ten_mb);
    EXPECT_NEAR(bytes / predictor.kernel(ten_mb).seconds / 6e11, 1.0, 1e-3);
    const Pointwise huge{PointwiseKind::add, Dtype::bf16, 1000000, 10000};
    EXPECT_NEAR(kernels::bytes(huge) / predictor.kernel(huge).seconds / 8e11, 1.0, 1e-9);
}

TEST(PredictPointwise, NeverBeatsTheShortestKernel) {
    const Profile profile = small_profile();  // 1 MB at 0.2 TB/s: 5 us
    const Predictor predictor(profile);
    EXPECT_NEAR(predictor.kernel(Pointwise{PointwiseKind::add, Dtype::bf16, 1, 1}).seconds, 5e-6, 1e-9);
}

TEST(PredictPointwise, WorksWithoutAnyTable) {
    Profile profile = small_profile();
    profile.pointwise.clear();
    const Predictor predictor(profile);
    const Pointwise gigabyte{PointwiseKind::gelu, Dtype::bf16, 250000, 1000};
    EXPECT_NEAR(predictor.kernel(gigabyte).seconds, 1e9 / (0.85 * 1e12), 1e-5);
}

TEST(PredictCollective, ReturnsMeasuredTimes) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    for (const auto& table : profile.collectives)
        for (const auto& p : table.points)
            EXPECT_NEAR(predictor.collective(table.kind, table.ranks, p.bytes).seconds / p.seconds, 1.0, 1e-9);
}

TEST(PredictCollective, IsContinuousAtAMebibyte) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    for (const std::uint32_t ranks : {2U, 3U, 8U, 72U}) {
        const double below = predictor.collective(CollectiveKind::all_reduce, ranks, 1048575).seconds;
        const double at = predictor.collective(CollectiveKind::all_reduce, ranks, 1048576).seconds;
        EXPECT_LE(below, at);
        EXPECT_NEAR(at / below, 1.0, 1e-5);
    }
}

TEST(PredictCollective, InterpolatesRanksAndGrowsBeyondThem) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    const auto time = [&](std::uint32_t ranks) {
        return predictor.collective(CollectiveKind::all_reduce, ranks, 1 << 20).seconds;
    };
    EXPECT_NEAR(time(4), std::sqrt(20e-6 * 40e-6), 1e-5);
    EXPECT_GT(time(16), time(8));
    EXPECT_GT(time(72), time(16));
    EXPECT_EQ(time(1), 0.0);
}

TEST(PredictCollective, DerivesMissingKindsFromTheRing) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    const double reduce = predictor.collective(CollectiveKind::all_reduce, 8, 1 << 30).seconds;
    EXPECT_DOUBLE_EQ(predictor.collective(CollectiveKind::all_gather, 8, 1 << 30).seconds, reduce / 2);
    EXPECT_DOUBLE_EQ(predictor.collective(CollectiveKind::reduce_scatter, 8, 1 << 30).seconds, reduce / 2);
    // Two ranks: all_reduce puts its size on the link once, as send_recv does.
    EXPECT_DOUBLE_EQ(predictor.collective(CollectiveKind::send_recv, 8, 1 << 20).seconds, 20e-6);
    EXPECT_TRUE(predictor.collective(CollectiveKind::broadcast, 8, 1 << 20).extrapolated);
}

TEST(PredictCollective, MoreNvlinksCarryTheSameSooner) {
    Profile profile = small_profile();
    for (CollectiveTable& table : profile.collectives) table.nvlink_bytes_per_second = 25e9;
    const Predictor predictor(profile);
    const auto time = [&](double nvlink, double bytes) {
        return predictor.collective(CollectiveKind::all_reduce, 8, bytes, nvlink).seconds;
    };
    for (const double bytes : {1e6, 1e8, 1e10}) {
        EXPECT_EQ(time(0, bytes), time(25e9, bytes)) << "as measured";
        EXPECT_EQ(time(50e9, bytes), time(25e9, bytes / 2));
        EXPECT_EQ(time(12.5e9, bytes), time(25e9, bytes * 2));
    }
    EXPECT_NEAR(time(50e9, 1e11) / time(25e9, 1e11), 0.5, 1e-9);
    EXPECT_EQ(time(50e9, 8), time(25e9, 8)) << "latency is no matter of links";
    EXPECT_NE(predictor.explain(CollectiveKind::all_reduce, 8, 1e8, 50e9)
                  .find("of 25 GB/s of each rank's NVLinks, "
                        "here 50: read at"),
              std::string::npos);
}

TEST(PredictCollective, RefusesImpossibleSizes) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    EXPECT_THROW((void)predictor.collective(CollectiveKind::all_reduce, 8, -1), Error);
    EXPECT_THROW((void)predictor.collective(CollectiveKind::all_reduce, 8, std::nan("")), Error);
}

TEST(Predictor, RefusesEmptyKernels) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    EXPECT_THROW((void)predictor.kernel(Gemm{Dtype::bf16, 1, 0, 8, 8}), Error);
    EXPECT_THROW((void)predictor.kernel(Pointwise{PointwiseKind::add, Dtype::bf16, 0, 8}), Error);
}

TEST(Predictor, NamesAMissingConstant) {
    const Profile profile = small_profile();
    const Predictor predictor(profile);
    EXPECT_EQ(predictor.constant("launch_seconds"), 0.001);
    EXPECT_THROW((void)predictor.constant("luck"), Error);
}

}  // namespace
}  // namespace orrery::calibrate
