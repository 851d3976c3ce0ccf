// Writing, reading and refusing profiles.
#include "calibrate/profile.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>

#include "base/error.hpp"
#include "tests/calibrate/small_profile.hpp"

namespace orrery::calibrate {
namespace {

namespace fs = std::filesystem;

fs::path scratch(const std::string& name) {
    const fs::path folder = fs::path(testing::TempDir()) / "orrery_profile_test";
    fs::create_directories(folder);
    return folder / name;
}

std::string text_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

fs::path written(const std::string& name, const std::string& text) {
    const fs::path file = scratch(name);
    std::ofstream(file, std::ios::binary) << text;
    return file;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string message_of(const std::function<void()>& run) {
    try {
        run();
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(Profile, SurvivesTheRoundTrip) {
    const fs::path file = scratch("small.json");
    Profile before = small_profile();
    before.collectives.push_back(before.collectives.back());
    before.collectives.back().nodes = 4;
    before.collectives[1].nvlink_bytes_per_second = 25e9;
    save_profile(before, file);
    const Profile after = load_profile(file);
    EXPECT_EQ(after.name, "small");
    EXPECT_EQ(after.constants.size(), before.constants.size());
    EXPECT_EQ(after.constants.at("peak_half_flops").value, 100e12);
    ASSERT_EQ(after.gemm.at(0).points.size(), 27u);
    EXPECT_EQ(after.gemm[0].points[5].k, before.gemm[0].points[5].k);
    EXPECT_NEAR(after.gemm[0].points[5].seconds / before.gemm[0].points[5].seconds, 1.0, 5e-4);
    ASSERT_EQ(after.attention.at(0).points.size(), 12u);
    EXPECT_TRUE(after.attention[0].causal);
    EXPECT_EQ(after.pointwise.at(0).points.at(1).bytes_per_second, 6e11);
    EXPECT_EQ(after.collectives.at(1).ranks, 8u);
    EXPECT_EQ(after.collectives[1].provenance.origin, "made up for a test");
    EXPECT_EQ(after.collectives[1].nodes, 1u);
    EXPECT_EQ(after.collectives[1].nvlink_bytes_per_second, 25e9);
    EXPECT_EQ(after.collectives[0].nvlink_bytes_per_second, 0);
    EXPECT_EQ(after.collectives.at(2).nodes, 4u);
}

TEST(Profile, SavesTheSameBytesTwice) {
    const fs::path first = scratch("first.json"), second = scratch("second.json");
    save_profile(small_profile(), first);
    save_profile(load_profile(first), second);
    EXPECT_EQ(text_of(first), text_of(second));
    EXPECT_FALSE(fs::exists(scratch("first.json.partial")));
}

TEST(Profile, KeepsASparseGridAsRows) {
    Profile profile = small_profile();
    auto& points = profile.gemm[0].points;
    points = {{64, 100, 70, 1e-5F}, {65, 200, 80, 2e-5F}, {300, 300, 90, 3e-5F}};
    const fs::path file = scratch("rows.json");
    save_profile(profile, file);
    const Profile after = load_profile(file);
    ASSERT_EQ(after.gemm[0].points.size(), 3u);
    EXPECT_EQ(after.gemm[0].points[1].n, 200u);
}

TEST(Profile, IsNotWrittenWhenBad) {
    Profile profile = small_profile();
    profile.gemm[0].points[3].seconds = -1;
    const fs::path file = scratch("never.json");
    fs::remove(file);
    EXPECT_THROW(save_profile(profile, file), Error);
    EXPECT_FALSE(fs::exists(file));
}

TEST(Profile, NamesAMissingFile) {
    EXPECT_NE(message_of([] { load_profile("no/such/profile.json"); }).find("no/such/profile.json"), std::string::npos);
}

struct BadText {
    const char *name, *from, *to, *expected;
};
void PrintTo(const BadText& bad, std::ostream* out) { *out << bad.name; }

class BadFile : public testing::TestWithParam<BadText> {};

TEST_P(BadFile, IsRefusedWithItsPlace) {
    const fs::path good = scratch(std::string("good_") + GetParam().name + ".json");
    save_profile(small_profile(), good);
    const fs::path bad = written(std::string("bad_") + GetParam().name + ".json",
                                 replaced(text_of(good), GetParam().from, GetParam().to));
    const std::string message = message_of([&] { load_profile(bad); });
    EXPECT_NE(message.find(bad.string()), std::string::npos) << message;
    EXPECT_NE(message.find(GetParam().expected), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Texts, BadFile,
    testing::Values(
        BadText{"version", "\"version\": 1", "\"version\": 7", "/version: version 7 is not supported"},
        BadText{"version_text", "\"version\": 1", "\"version\": \"1\"", "/version"},
        BadText{"no_name", "\"name\": \"small\",", "", "\"name\" is missing"},
        BadText{"empty_name", "\"name\": \"small\"", "\"name\": \"\"", "/name: is empty"},
        BadText{"not_json", "\"gemm\": [", "\"gemm\": [,", "not valid JSON"},
        BadText{"constant_missing", "\"sustained_gemm\"", "\"other\"", "\"sustained_gemm\" is missing"},
        BadText{"constant_zero", "\"value\": 100000000000000", "\"value\": 0", "/constants/peak_half_flops"},
        BadText{"constant_text", "\"value\": 100000000000000", "\"value\": \"fast\"", "not a number"},
        BadText{"constant_origin", "\"origin\": \"test\"", "\"origin\": \"\"", "has no origin"},
        BadText{"dtype", "\"dtype\": \"bf16\"", "\"dtype\": \"bf17\"", "/gemm/0/dtype: unknown number format \"bf17\""},
        BadText{"kind", "\"kind\": \"add\"", "\"kind\": \"subtract\"", "/pointwise/0"},
        BadText{"collective", "\"kind\": \"all_reduce\"", "\"kind\": \"none\"", "/collectives/0"},
        BadText{"ranks", "\"ranks\": 2", "\"ranks\": 1", "/collectives/0/ranks"},
        BadText{"nodes", "\"ranks\": 2,", "\"ranks\": 2, \"nodes\": 3,", "/collectives/0/nodes: 3 nodes cannot hold 2"},
        BadText{"nvlink_bytes", "\"ranks\": 2,", "\"ranks\": 2, \"nvlink_GB_per_s\": 25000000000,",
                "/collectives/0/nvlink_GB_per_s: is the NVLinks of one node"},
        BadText{"nvlink_of_nodes", "\"ranks\": 2,", "\"ranks\": 2, \"nodes\": 2, \"nvlink_GB_per_s\": 25,",
                "/collectives/0/nvlink_GB_per_s"},
        BadText{"nvlink_text", "\"ranks\": 2,", "\"ranks\": 2, \"nvlink_GB_per_s\": \"25\",",
                "/collectives/0/nvlink_GB_per_s"},
        BadText{"no_nodes", "\"ranks\": 2,", "\"ranks\": 2, \"nodes\": 0,", "/collectives/0/nodes"},
        BadText{"ranks_negative", "\"ranks\": 2", "\"ranks\": -2", "not a whole number"},
        BadText{"truncated_grid", "\"m\": [256,1024,4096]", "\"m\": [256,1024]", "/gemm/0/grid/us: has 27 values"},
        BadText{"column_short", "\"us\": [10,20,1e+04]", "\"us\": [10,20]", "/collectives/0/rows/us: has 2 values"},
        BadText{"unsorted", "\"m\": [256,1024,4096]", "\"m\": [1024,256,4096]", "out of order"},
        BadText{"null_time", "\"us\": [10,20,1e+04]", "\"us\": [10,null,1e+04]", "/collectives/0/rows/us/1"},
        BadText{"zero_time", "\"us\": [10,20,1e+04]", "\"us\": [10,0,1e+04]", "time is 0"},
        BadText{"negative_time", "\"us\": [10,20,1e+04]", "\"us\": [10,-20,1e+04]", "/collectives/0/rows/1"},
        BadText{"outlier", "\"us\": [10,20,1e+04]", "\"us\": [10,20000,1e+04]", "than the rows beside it"},
        BadText{"provenance", "\"licence\": \"none\"", "\"license\": \"none\"", "nearest known key is \"licence\""},
        BadText{"no_tables", "\"attention\": [", "\"inattention\": [", "/inattention: unknown key"},
        BadText{"twice", "\"version\": 1,", "\"version\": 1, \"version\": 1,",
                "/version: the key \"version\" appears twice"},
        BadText{"constant_twice", "\"origin\": \"test\"", "\"origin\": \"test\", \"origin\": \"x\"", "appears twice"},
        BadText{"unknown", "\"version\": 1,", "\"version\": 1, \"versoin\": 1,", "nearest known key is \"version\""},
        BadText{"unknown_in_rows", "\"us\": [10,20,1e+04]", "\"us\": [10,20,1e+04], \"halfwidth\": [1,1,1]",
                "/collectives/0/rows/halfwidth: unknown key"},
        BadText{"unknown_in_constant", "\"origin\": \"test\"", "\"origin\": \"test\", \"unti\": \"s\"",
                "/unti: unknown key"},
        BadText{"beyond_double", "\"value\": 100000000000000", "\"value\": 1e999", "number overflow parsing '1e999'"},
        BadText{"ranks_beyond", "\"ranks\": 2", "\"ranks\": 4294967298",
                "/collectives/0/ranks: 4294967298 is out of range"},
        BadText{"ranks_fraction", "\"ranks\": 2", "\"ranks\": 2.0", "2.0 is not a whole number"},
        BadText{"boolean", "\"causal\": true", "\"causal\": 1", "neither true nor false"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Profile, RefusesACutOffFile) {
    const fs::path good = scratch("whole.json");
    save_profile(small_profile(), good);
    const std::string text = text_of(good);
    for (const double share : {0.0, 0.1, 0.5, 0.9, 0.999}) {
        const auto length = static_cast<std::size_t>(share * static_cast<double>(text.size()));
        const fs::path cut = written("cut.json", text.substr(0, length));
        EXPECT_THROW(load_profile(cut), Error) << "cut at " << length;
    }
}

TEST(Profile, RefusesValuesThatJsonCannotSay) {
    for (const double value : {std::nan(""), std::numeric_limits<double>::infinity(), 0.0, -1.0}) {
        Profile profile = small_profile();
        profile.pointwise[0].points[1].bytes_per_second = value;
        const std::string message = message_of([&] { save_profile(profile, scratch("bad_value.json")); });
        EXPECT_NE(message.find("/pointwise/0/rows/1"), std::string::npos) << message;
    }
}

TEST(Profile, RefusesImpossibleHeads) {
    Profile profile = small_profile();
    profile.attention[0].points[0].kv_heads = 3;
    const std::string message = message_of([&] { save_profile(profile, scratch("bad_heads.json")); });
    EXPECT_NE(message.find("8 heads are no multiple of 3 kv_heads"), std::string::npos) << message;
}

}  // namespace
}  // namespace orrery::calibrate
