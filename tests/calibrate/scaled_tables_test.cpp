#include "calibrate/scaled_tables.hpp"

#include <gtest/gtest.h>

#include <string>

#include "calibrate/profile_store.hpp"

namespace orrery::calibrate {
namespace {

using Kind = kernels::PointwiseKind;

PointwiseTable table(Kind kind, std::vector<PointwisePoint> points) { return {kind, {}, std::move(points)}; }

/// 2 us of latency, 2,000 GB/s from the cache and 1,000 from memory; rows that come slower than either.
const std::vector<PointwiseTable> read{
    table(Kind::add, {{2e3, 0, 1e9}, {4e6, 0, 1e12}, {40e6, 0, 40e6 / 22e-6}, {400e6, 0, 1e12}}),
    table(Kind::rope, {{2e3, 0, 1e9}, {40e6, 0, 5e11}, {400e6, 0, 4e11}})};

TEST(ScaledTables, KeepLatencyAndScaleTheRest) {
    Profile profile;
    add_scaled(profile, read, "a board", 0.5);
    const auto& points = profile.pointwise.front().points;
    EXPECT_NEAR(points[0].bytes / points[0].bytes_per_second, 2e-6, 1e-12);
    EXPECT_NEAR(points[1].bytes / points[1].bytes_per_second, 2e-6 + 2 * 2e-6, 1e-12);
    EXPECT_NEAR(points[2].bytes / points[2].bytes_per_second, 2e-6 + 2 * 20e-6, 1e-12);
    EXPECT_NE(profile.pointwise.front().provenance.origin.find("scaled by 0.500"), std::string::npos);
}

/// Beyond its own cache a board streams from memory, whatever the other's larger cache gave; kernels that memory does
/// not bind stay.
TEST(ScaledTables, LeaveOutWhatALargerCacheGave) {
    Profile profile;
    add_scaled(profile, read, "a board", 0.5, 6e6);
    const auto& add = profile.pointwise[0];
    EXPECT_NEAR(add.points[1].bytes_per_second, 4e6 / 6e-6, 1) << "fits into the cache";
    EXPECT_DOUBLE_EQ(add.points[2].bytes_per_second, 5e11);
    EXPECT_NE(add.provenance.origin.find("beyond a cache of 6.0 MB"), std::string::npos);
    EXPECT_EQ(profile.pointwise[1].provenance.origin.find("cache"), std::string::npos) << "nothing was held down";
}

/// V100 has 6 MB of cache and P100 4, where A100, whose tables they take, has 40.
TEST(ScaledTables, OfOlderBoardsStayBelowTheirMemory) {
    ProfileStore store;
    for (const char* name : {"p100", "v100", "v100-sxm3"}) {
        const Profile& profile = store.find(name).profile();
        const double memory = profile.constants.at("memory_bytes_per_second").value;
        for (const PointwiseTable& each : profile.pointwise)
            for (const PointwisePoint& p : each.points) {
                if (p.bytes <= 6.3e6) continue;
                EXPECT_LT(p.bytes_per_second, 0.9 * memory) << name << ' ' << p.bytes;
            }
    }
}

}  // namespace
}  // namespace orrery::calibrate
