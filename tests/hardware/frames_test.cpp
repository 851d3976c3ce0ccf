// Shares of line rate: arithmetic of headers, and the order that networks must have.
#include "hardware/frames.hpp"

#include <gtest/gtest.h>

#include "hardware/datasheets.hpp"

namespace orrery::hardware {
namespace {

TEST(Frames, LeaveWhatTheirHeadersDoNotTake) {
    EXPECT_DOUBLE_EQ(infiniband_frame_share, 4096.0 / 4122.0);
    EXPECT_DOUBLE_EQ(roce_frame_share, 4096.0 / 4178.0);
    EXPECT_DOUBLE_EQ(frame_share(1448, 90), 1448.0 / 1538.0) << "TCP with timestamps in Ethernet frames of 1,500 bytes";
}

TEST(Adapters, CarryLessThanTheirLineRate) {
    EXPECT_DOUBLE_EQ(infiniband_adapter.payload_share, 0.96) << "as NCCL was measured over InfiniBand";
    EXPECT_NEAR(omni_path_adapter.payload_share, 0.137, 0.0005) << "as NCCL was measured over it, by verbs";
    EXPECT_LT(roce_adapter.payload_share, infiniband_adapter.payload_share) << "its headers are larger";
    EXPECT_NEAR(roce_adapter.payload_share, 0.947, 0.0005);
    EXPECT_EQ(efa_adapter.payload_share, roce_adapter.payload_share);
    EXPECT_NEAR(chip_adapter.payload_share, 0.75, 1e-9) << "as TPU v5e were read";
}

}  // namespace
}  // namespace orrery::hardware
