// Profiles of AMD's Instinct: made again from the tables that the project carries, and held against what AMD accepts of
// a server and no profile is made of.
#include "calibrate/instinct.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "calibrate/import_instinct.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/profile_store.hpp"

namespace orrery::calibrate {
namespace {

using kernels::CollectiveKind;
using kernels::Dtype;

std::string text_of(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

class Instinct : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Boards, Instinct, testing::ValuesIn(instincts()),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(Instinct, IsMadeAgainFromTheCarriedTables) {
    const std::string name(GetParam());
    const std::filesystem::path made = testing::TempDir() + name + ".json";
    save_profile(instinct_profile(name, "calibrate"), made);
    EXPECT_EQ(text_of(made), text_of("scenarios/profiles/" + name + ".json"));
    std::filesystem::remove(made);
}

/// ROCm Validation Suite, rvs/conf/*/gst_single.conf: TFLOP/s that a healthy board reaches with random numbers (of
/// MI355X the file states those of MI350X, which has less power).
struct Accepted {
    const char* profile;
    Dtype dtype;
    std::uint32_t m, n, k;
    double least, most;
};
constexpr Accepted accepted[] = {
    {"mi300x", Dtype::bf16, 4096, 4864, 8192, 552, 708},   {"mi300x", Dtype::fp8, 4096, 4864, 8192, 981, 1319},
    {"mi325x", Dtype::bf16, 4096, 4864, 8192, 554, 843},   {"mi325x", Dtype::fp8, 4096, 4864, 8192, 983, 1574},
    {"mi355x", Dtype::bf16, 8192, 16384, 8192, 956, 1597}, {"mi355x", Dtype::fp8, 8192, 16384, 8192, 2061, 3294}};

TEST(InstinctAcceptance, ProductsReachWhatAHealthyBoardDoes) {
    ProfileStore store;
    for (const Accepted& each : accepted) {
        const kernels::Gemm product{each.dtype, 1, each.m, each.n, each.k};
        const double teraflops = kernels::flops(product) / store.find(each.profile).kernel(product).seconds / 1e12;
        EXPECT_GE(teraflops, each.least) << each.profile << " " << kernels::name(each.dtype);
        EXPECT_LE(teraflops, each.most) << each.profile << " " << kernels::name(each.dtype);
    }
}

/// AMD Instinct system acceptance: bus bandwidth of an all_reduce of 8 GiB among a node's eight.
TEST(InstinctAcceptance, CollectivesReachWhatAHealthyNodeDoes) {
    ProfileStore store;
    for (const auto& [profile, least, most] : {std::tuple{"mi250x", 125.0, 150.0},
                                               {"mi300x", 304.0, 336.0},
                                               {"mi325x", 304.0, 336.0},
                                               {"mi355x", 350.0, 410.0}}) {
        constexpr double bytes = 8.0 * 1024 * 1024 * 1024;
        const double seconds = store.find(profile).collective(CollectiveKind::all_reduce, 8, bytes).seconds;
        const double bus = kernels::bus_factor(CollectiveKind::all_reduce, 8) * bytes / seconds / 1e9;
        EXPECT_GE(bus, least) << profile;
        EXPECT_LE(bus, most) << profile;
    }
}

/// Two GPUs of a mesh of eight have one of seven links: 47.7 GB/s on MI300X (ML Engineering, network).
TEST(InstinctAcceptance, TwoOfEightHaveOneLink) {
    ProfileStore store;
    constexpr double bytes = 4.0 * 1024 * 1024 * 1024;
    const double seconds = store.find("mi300x").collective(CollectiveKind::all_reduce, 2, bytes).seconds;
    EXPECT_NEAR(bytes / seconds / 1e9, 47.671, 0.06 * 47.671);
}

TEST(InstinctTables, NameTheFileOfWhatIsWrong) {
    const std::filesystem::path folder = testing::TempDir() + "instinct-tables";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "memory_x.csv") << "kind,bytes,us,source\nsofter,1,1,a\n";
    std::ofstream(folder / "collectives_x.csv") << "kind,ranks,bytes,us,source\nall_reduce,8,many,1,a\n";
    std::ofstream(folder / "products_x_bf16.csv") << "m,n,us,source\n1,1,1,a\n";
    const auto told = [&](auto read, const char* file) {
        try {
            read();
            ADD_FAILURE() << file << " was read";
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(file), std::string::npos) << error.what();
        }
    };
    told([&] { (void)instinct_pointwise(folder, "x", "device"); }, "memory_x.csv");
    told([&] { (void)instinct_collectives(folder, "x", "device"); }, "collectives_x.csv");
    told([&] { (void)instinct_gemm(folder, "x", Dtype::bf16, "device"); }, "products_x_bf16.csv");
    told([&] { (void)instinct_attention(folder, "x", "device"); }, "attention_x.csv");
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace orrery::calibrate
