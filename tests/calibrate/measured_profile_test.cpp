// The sections of a profile that only measured devices have: written, read and checked.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "calibrate/compare_profiles.hpp"
#include "calibrate/profile_check.hpp"
#include "calibrate/profile_json.hpp"
#include "tests/calibrate/small_profile.hpp"

namespace orrery::calibrate {
namespace {

Profile measured() {
    Profile profile = small_profile();
    profile.gemm.push_back(profile.gemm[0]);
    profile.gemm[1].pass = kernels::GemmPass::weight_gradient;
    for (auto& p : profile.gemm[1].points) p.seconds *= 2, p.half_width = 0.05F;
    profile.pointwise[0].dtype = kernels::Dtype::fp32;
    for (auto& p : profile.collectives[0].points) p.half_width = 0.02;
    profile.batched_gemm.push_back({kernels::Dtype::bf16,
                                    profile.gemm[0].provenance,
                                    {{8, 64, 1024, 256, 5e-5F, 0.1F}, {8, 128, 1024, 256, 7e-5F, 0.1F}},
                                    kernels::GemmPass::data_gradient});
    profile.copies.push_back(
        {kernels::CopyKind::device_to_host, profile.gemm[0].provenance, {{1e3, 1e-6}, {1e6, 1e-4}}});
    profile.overlap.push_back({"gemm bf16 1x8x8x8", "all_reduce 64 B among 8", 1.2, 1.4});
    profile.noise["gemm"] = {27, 0.01, 0.02, 3, 1, 2};
    profile.load = {0.1, 0.2};
    return profile;
}

Profile again(const Profile& profile) { return profile_from(nlohmann::json::parse(to_json_text(profile))); }

TEST(MeasuredProfile, ComesBackAsItWasWritten) {
    const Profile profile = measured(), read = again(profile);
    EXPECT_EQ(to_json_text(read), to_json_text(profile));
    EXPECT_NO_THROW(check_profile(read));
    EXPECT_EQ(read.gemm[1].pass, kernels::GemmPass::weight_gradient);
    EXPECT_FLOAT_EQ(read.gemm[1].points[3].half_width, 0.05F);
    EXPECT_EQ(read.pointwise[0].dtype, kernels::Dtype::fp32);
    EXPECT_EQ(read.batched_gemm[0].pass, kernels::GemmPass::data_gradient);
    EXPECT_EQ(read.batched_gemm[0].points[1].m, 128U);
    EXPECT_EQ(read.copies[0].kind, kernels::CopyKind::device_to_host);
    EXPECT_EQ(read.overlap[0].beside_slowdown, 1.4);
    EXPECT_EQ(read.noise.at("gemm").unsettled, 2U);
    EXPECT_EQ(read.load->after, 0.2);
}

TEST(MeasuredProfile, EmptySectionsAreNotWritten) {
    const std::string text = to_json_text(small_profile());
    for (const char* key : {"batched_gemm", "copies", "overlap", "noise", "load", "half_width", "pass"})
        EXPECT_EQ(text.find('"' + std::string(key) + '"'), std::string::npos) << key;
}

template <class Damage>
void expect_refused(Damage damage, const std::string& pointer) {
    Profile profile = measured();
    damage(profile);
    try {
        check_profile(profile);
        ADD_FAILURE() << pointer << " was accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.pointer(), pointer) << error.what();
    }
}

TEST(MeasuredProfile, RefusesDamagedRows) {
    expect_refused([](Profile& p) { p.copies[0].points[1].seconds = std::nan(""); }, "/copies/0/rows/1");
    expect_refused([](Profile& p) { p.copies[0].points[0].seconds = -1; }, "/copies/0/rows/0");
    expect_refused([](Profile& p) { p.batched_gemm[0].points[1].m = 0; }, "/batched_gemm/0/rows/1");
    expect_refused([](Profile& p) { p.batched_gemm[0].points[0].seconds = 0; }, "/batched_gemm/0/rows/0");
    expect_refused([](Profile& p) { p.gemm[1].points[4].half_width = 1; }, "/gemm/1/rows/4");
    expect_refused([](Profile& p) { p.gemm[1].points[4].seconds *= 300; }, "/gemm/1/rows/4");
    expect_refused([](Profile& p) { p.overlap[0].kernel_slowdown = 0; }, "/overlap/0");
    expect_refused([](Profile& p) { p.noise["gemm"].median = std::nan(""); }, "/noise/gemm");
    expect_refused([](Profile& p) { p.load->before = -0.1; }, "/load");
    expect_refused([](Profile& p) { p.constants["launch_seconds"].value = -1e-6; }, "/constants/launch_seconds");
    expect_refused([](Profile& p) { p.constants["peak_half_flops"].value = 0; }, "/constants/peak_half_flops");
}

/// Each would be predicted from without a word: a step of 2.7e18 s, an MFU of 137%.
TEST(MeasuredProfile, RefusesConstantsBeyondBelief) {
    for (const KnownConstant& known : known_constants)
        for (const double value : {known.least - 1e-3 * (1 + known.least), known.most * 1.01, std::nan(""), HUGE_VAL})
            expect_refused(
                [&](Profile& p) {
                    p.constants[std::string(known.name)] = {value, "1", "test"};
                },
                ("/constants/" + std::string(known.name)).c_str());
    expect_refused([](Profile& p) { p.constants["lauch_seconds"] = {1e-6, "s", "test"}; }, "/constants/lauch_seconds");
}

TEST(MeasuredProfile, SaysWhatBecameOfDispatchSeconds) {
    Profile profile = measured();
    profile.constants["dispatch_seconds"] = profile.constants.extract("launch_seconds").mapped();
    try {
        check_profile(profile);
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_NE(error.hint().find("rename dispatch_seconds to launch_seconds"), std::string::npos) << error.what();
    }
}

TEST(MeasuredProfile, ADeviceMayHaveNoOverheads) {
    Profile profile = measured();
    for (const KnownConstant& known : known_constants)
        if (known.least == 0) profile.constants[std::string(known.name)] = {0, "s", "test"};
    EXPECT_NO_THROW(check_profile(profile));
}

TEST(MeasuredProfile, AnswersEachPassFromItsTable) {
    const Profile profile = measured();
    const Predictor predictor(profile);
    using enum kernels::GemmPass;
    const auto time = [&](kernels::GemmPass pass) {
        return predictor.kernel(kernels::Gemm{kernels::Dtype::bf16, 1, 1024, 1024, 1024, pass});
    };
    EXPECT_NEAR(time(weight_gradient).seconds / time(forward).seconds, 2, 1e-3);
    EXPECT_EQ(time(data_gradient).seconds, time(forward).seconds);  // has no table: the forward pass stands in
    EXPECT_EQ(time(forward).uncertainty, 0);
    EXPECT_GT(time(weight_gradient).uncertainty, 0.04);
}

/// Products of a batch have weights of their own each, which one larger product does not: only measuring tells.
TEST(MeasuredProfile, ABatchedProductThatWasMeasuredTakesItsTime) {
    Profile profile = measured();
    profile.constants["sustained_gemm"].value = 1;
    const Predictor predictor(profile);
    const kernels::Gemm experts{kernels::Dtype::bf16, 8, 64, 1024, 256, kernels::GemmPass::data_gradient};
    EXPECT_FLOAT_EQ(static_cast<float>(predictor.kernel(experts).seconds), 5e-5F);
    EXPECT_FALSE(predictor.kernel(experts).extrapolated);
    EXPECT_NE(predictor.explain(experts).find("this very product was measured"), std::string::npos);
    kernels::Gemm other = experts;
    other.n = 512;
    EXPECT_EQ(predictor.kernel(experts).derived, "");
    EXPECT_EQ(predictor.kernel(other).derived, "batched products from single ones");
}

TEST(MeasuredProfile, InterpolatesBetweenWidthsOfRows) {
    Profile profile = small_profile();
    profile.pointwise[0].points = {{1e6, 256, 1e11, 0.1}, {1e7, 256, 1e11, 0.1}, {1e6, 1024, 4e11}, {1e7, 1024, 4e11}};
    const Predictor predictor(profile);
    const auto rate = [&](std::uint64_t cols) {
        const kernels::Pointwise p{kernels::PointwiseKind::add, kernels::Dtype::bf16, 500000 / cols, cols};
        return kernels::bytes(p) / predictor.kernel(p).seconds;
    };
    EXPECT_NEAR(rate(256) / 1e11, 1, 1e-6);
    EXPECT_NEAR(rate(1024) / 4e11, 1, 1e-6);
    EXPECT_NEAR(rate(512) / 2e11, 1, 1e-6);
    EXPECT_NEAR(rate(64) / 1e11, 1, 1e-6);
}

TEST(CompareProfiles, FindsAFactorAndItsRows) {
    const Profile first = small_profile();
    Profile second = small_profile();
    for (auto& p : second.gemm[0].points) p.seconds *= 1.5F;
    second.collectives.clear();
    const auto suites = compare_profiles(Predictor(first), Predictor(second));
    ASSERT_FALSE(suites.empty());
    EXPECT_EQ(suites[0].name, "gemm bf16");
    EXPECT_EQ(suites[0].rows.size(), 27U);
    EXPECT_NEAR(suites[0].median, 1.5, 1e-3);
    for (const auto& suite : suites) {
        EXPECT_EQ(suite.name.find("all_reduce"), std::string::npos);  // the second has none
        if (suite.name != "gemm bf16") {
            EXPECT_NEAR(suite.p90, 1, 1e-5) << suite.name;  // tables hold floats
        }
    }
}

}  // namespace
}  // namespace orrery::calibrate
