#include "validate/collectives.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/validate/sample.hpp"

namespace orrery::validate {

using kernels::CollectiveKind;
using nlohmann::json;

namespace {

json sweep_row() {
    return json::parse(R"({"id": "ar/8", "kind": "collective", "gpu": "A100", "node": "one node", "gpus": 8, "nodes": 1,
        "switches": {"op": "all_reduce"},
        "measured": {"sweep_out_of_place": [{"bytes": 1024, "time_us": 20.0}, {"bytes": 1048576, "time_us": 40.0}]}})");
}

MappedCollective collective(const json& patch) {
    return map_collective(test::row_of(test::with(sweep_row(), patch)), test::any_profile);
}

std::string reason(const json& patch) {
    return test::reason_of([&] { collective(patch); });
}

}  // namespace

TEST(Collectives, SweepsOfTimes) {
    const MappedCollective mapped = collective({});
    EXPECT_EQ(mapped.kind, CollectiveKind::all_reduce);
    EXPECT_EQ(mapped.ranks, 8U);
    EXPECT_EQ(mapped.cluster.preset, "dgx-a100");
    ASSERT_EQ(mapped.points.size(), 2U);
    EXPECT_DOUBLE_EQ(mapped.points[1].bytes, 1048576);
    EXPECT_DOUBLE_EQ(mapped.points[1].seconds, 40e-6);
}

TEST(Collectives, BusBandwidthGivesTheTime) {
    // busbw = bytes / t x 2 x 7/8; below 1 GB/s the printed digits are too few.
    const MappedCollective mapped =
        collective({{"measured",
                     {{"sweep_out_of_place",
                       json::array({{{"bytes", 32768}, {"time_us", nullptr}, {"busbw_GBps", 0.9}},
                                    {{"bytes", 1000000000}, {"time_us", nullptr}, {"busbw_GBps", 175.0}}})}}}});
    ASSERT_EQ(mapped.points.size(), 1U);
    EXPECT_DOUBLE_EQ(mapped.points[0].seconds, 1e9 * 1.75 / 175e9);
}

TEST(Collectives, SingleMeasurements) {
    const json none = {{"sweep_out_of_place", nullptr}};
    const auto single = [&](json measured, const json& payload) {
        measured.update(none);
        return collective({{"measured", measured}, {"switches", {{"payload_bytes", payload}}}}).points.at(0);
    };
    EXPECT_DOUBLE_EQ(single({{"time_s_median", 0.05}}, 4000000000).seconds, 0.05);
    EXPECT_DOUBLE_EQ(single({{"busbw_GBps", 100}}, "4G").bytes, 4.0 * (1ULL << 30));
    EXPECT_EQ(reason({{"measured", {{"sweep_out_of_place", nullptr}, {"busbw_GBps", 48}}}}),
              "message size not published");
}

TEST(Collectives, NamesWhatIsMissing) {
    EXPECT_EQ(reason({{"switches", {{"op", "pipeline p2p ring"}}}}), "collective not supported");
    EXPECT_EQ(reason({{"switches", nullptr}}), "collective not published");
    EXPECT_EQ(reason({{"gpu", "not stated"}}), "GPU not published");
    EXPECT_EQ(reason({{"gpus", nullptr}}), "GPU count not published");
    EXPECT_EQ(reason({{"gpus", 1}}), "collective of a single GPU");
    EXPECT_EQ(reason({{"switches", {{"group", "strided ranks"}}}}), "strided groups are not supported");
    EXPECT_EQ(reason({{"precision", "int8"}}), "integer reductions are not modelled");
    EXPECT_EQ(reason({{"precision", "int8"}, {"switches", {{"op", "all_gather"}}}}), "");
    EXPECT_EQ(reason({{"measured", {{"sweep_out_of_place", json::array()}}}}), "no time at any size");
    EXPECT_EQ(reason({{"measured", {{"sweep_out_of_place", 3}}}}),
              "field of a wrong type: measured.sweep_out_of_place");
    EXPECT_EQ(reason({{"measured", nullptr}}), "nothing measured");
}

}  // namespace orrery::validate
