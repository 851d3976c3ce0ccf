// Profiles that cannot be those of the GPU that they time.
#include "calibrate/plausible.hpp"

#include <gtest/gtest.h>

#include "calibrate/import.hpp"
#include "tests/calibrate/small_profile.hpp"

namespace orrery::calibrate {
namespace {

Profile shipped(std::string_view name) { return load_profile("scenarios/profiles/" + std::string(name) + ".json"); }

std::vector<std::string> implausible(const Profile& profile, const hardware::Gpu& gpu) {
    return calibrate::implausible(Predictor(profile), gpu);
}

TEST(Plausible, IsEveryShippedProfileOfItsOwnGpus) {
    for (const hardware::Gpu& gpu : hardware::gpus())
        for (const std::string_view name : importable())
            if (name == gpu.profile) {
                for (const std::string& text : implausible(shipped(name), gpu))
                    ADD_FAILURE() << gpu.name << ": " << text;
            }
    EXPECT_TRUE(implausible(shipped("cpu"), *hardware::find("CPU")).empty());
}

TEST(Plausible, IsNoProfileOfAnotherDevice) {
    const auto warning = [](std::string_view profile, const char* gpu) {
        const auto warnings = implausible(shipped(profile), *hardware::find(gpu));
        return warnings.size() == 1 ? warnings[0] : "";
    };
    EXPECT_NE(warning("a100", "H100").find("profile a100 is of NVIDIA A100-SXM4-80GB"), std::string::npos);
    EXPECT_NE(warning("b200", "GB200").find("leave the profile out"), std::string::npos);
    EXPECT_NE(warning("cpu", "H100"), "");
    EXPECT_NE(warning("h100", "CPU"), "");
}

TEST(Plausible, IsNoTableThatIsFasterThanTheDatasheet) {
    Profile profile = small_profile();
    const hardware::Gpu& gpu = *hardware::find("A100");
    EXPECT_TRUE(implausible(profile, gpu).empty()) << "a device that is not known by its name";
    for (GemmPoint& p : profile.gemm[0].points) p.seconds /= 10;
    for (PointwisePoint& p : profile.pointwise[0].points) p.bytes_per_second *= 3;
    const auto warnings = implausible(profile, gpu);
    ASSERT_EQ(warnings.size(), 2U);
    EXPECT_NE(warnings[0].find("products in bf16"), std::string::npos) << warnings[0];
    EXPECT_NE(warnings[1].find("holds add at 2400 GB/s, but the memory has 1000"), std::string::npos) << warnings[1];
}

}  // namespace
}  // namespace orrery::calibrate
