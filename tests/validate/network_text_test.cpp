// Networks as rows print them.
#include "validate/network_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/validate/sample.hpp"
#include "validate/row.hpp"

namespace orrery::validate {
namespace {

struct Text {
    const char* words;
    std::uint32_t count;
    double gigabits;
    bool total = false;
    Fabric fabric = Fabric::infiniband;
};

// As sources print them, and as they might.
const Text texts[] = {
    {"8x HDR InfiniBand 200 Gb/s per node (Selene)", 8, 200},
    {"4x Omni-Path 100 Gb/s per node shared with other jobs", 4, 100, false, Fabric::omni_path},
    {"Omni-Path 100 Gb/s x? per node", 0, 100, false, Fabric::omni_path},
    {"1x100 Gb/s InfiniBand EDR per node", 1, 100},
    {"NVLink3/NVSwitch + 8x HDR200 IB", 8, 200},
    {"NVLink2 + 4x EDR IB", 4, 100},
    {"not stated (DGX: NVLink + 8x400G NIC)", 8, 400, false, Fabric::not_stated},
    {"1600 Gbps node-node interconnect (RoCE)", 0, 1600, true, Fabric::ethernet},
    {"32x EFA 100G per node (3200 Gb/s), aws-ofi-nccl 1.7.3", 32, 100, false, Fabric::efa},
    {"8x 2x100G RoCEv2 per node (1600 Gb/s)", 8, 200, false, Fabric::ethernet},
    {"GPUDirect-TCPX 4x200 Gb/s per VM (recollection)", 4, 200, false, Fabric::ethernet},
    {"50 Gb/s Ethernet", 1, 50, false, Fabric::ethernet},
    {"100 Gb/s TCP", 1, 100, false, Fabric::ethernet},
    {"NVLink in node", 0, 0, false, Fabric::not_stated},
    {"NVLink3/NVSwitch 300 GB per direction", 0, 0, false, Fabric::not_stated},
    {"99999999999999999999x HDR InfiniBand 200 Gb/s", 0, 200},
    // Another network first, or beside.
    {"1x 25 GbE management, 8x 400 Gb/s InfiniBand", 8, 400},
    {"2x100G Ethernet for storage and 8x NDR400 IB", 8, 400},
    {"8x 200 Gb/s IB; 100 Gb/s Ethernet (in-band)", 8, 200},
    {"1x Ethernet 100Gb/s, 8x NVIDIA Quantum-2 CX7 InfiniBand (400Gb/s)", 8, 400},
    {"Ethernet, Infiniband; 1x Intel X710 10GbE, 8x ConnectX-7 400GbE/NDR", 8, 400},
    {"8x NDR400 IB, 1x 400 GbE", 8, 400},
    {"1x 100 Gb/s IB, 400 Gb/s uplinks", 1, 100},
    {"Storage&Compute: 4x ConnectX-7 IB NDR 400Gb/s, Management: 25Gb/s Ethernet NIC", 4, 400},
    // Units and brackets.
    {"4x 100 Gb InfiniBand", 4, 100},
    {"4 * 100Gb RoCE", 4, 100, false, Fabric::ethernet},
    {"8 × 400 Gb/s IB", 8, 400},
    {"InfiniBand, 200Gb/s", 0, 200},
    {"InfiniBand 100 Gb/s", 1, 100},
    {"8x (ConnectX-7) (400 Gb/s) IB", 8, 400},
    {"2 x 25 GB/s InfiniBand", 2, 200},
};

TEST(ReadNetwork, CountsAndRates) {
    for (const Text& text : texts) {
        SCOPED_TRACE(text.words);
        const NetworkText network = read_network(text.words);
        EXPECT_EQ(network.nics.count, text.count);
        EXPECT_NEAR(network.nics.bytes_per_second * 8e-9, text.gigabits, 1e-9);
        EXPECT_EQ(network.nics.total, text.total);
        EXPECT_EQ(network.fabric, text.fabric);
        EXPECT_EQ(network.measured_bytes_per_second, 0);
    }
}

TEST(ReadNetwork, PerGpu) {
    const Nics nics = read_network("400 Gb/s per GPU, InfiniBand").nics;
    EXPECT_TRUE(nics.per_gpu);
    EXPECT_DOUBLE_EQ(nics.bytes_per_second, 50e9);
}

TEST(ReadNetwork, MeasuredRates) {
    const NetworkText range = read_network("4x 100 Gb/s OPA (source: +/-40%; all-reduce 16 nodes 23-55 Gb/s measured)");
    EXPECT_EQ(range.nics.count, 4U);
    EXPECT_NEAR(range.measured_bytes_per_second * 8e-9, 39, 1e-9);
    EXPECT_NEAR(read_network("8x400G IB, 320 GB/s measured").measured_bytes_per_second, 320e9, 1);
}

TEST(ReadNetwork, WhatIsNotUnderstoodIsQuoted) {
    const auto reason = [](const char* text) { return test::reason_of([&] { read_network(text); }); };
    EXPECT_EQ(reason("Slingshot-11"), "network not understood: Slingshot-11");
    EXPECT_EQ(reason("25 GbE management"), "network not understood: 25 GbE management");
    EXPECT_EQ(reason(""), "");
    EXPECT_EQ(reason("not stated"), "");
    EXPECT_EQ(test::reason({{"network", "Slingshot-11"}}), "network not understood: Slingshot-11");
    EXPECT_EQ(test::reason({{"network", "Slingshot-11"}, {"gpus", 8}, {"nodes", 1}, {"dp", 4}, {"gbs", 8}}), "");
}

TEST(ReadNetwork, VersionsOfLibraries) {
    const NetworkText both = read_network("32x EFA 100G per node (3200 Gb/s), aws-ofi-nccl v1.7.3, NCCL 2.18.5");
    EXPECT_EQ(both.nccl, "2.18.5");
    EXPECT_EQ(both.aws_ofi_nccl, "1.7.3");
    const NetworkText one = read_network("8x 400 Gb/s InfiniBand, nccl-2.21");
    EXPECT_EQ(one.nccl, "2.21");
    EXPECT_EQ(one.aws_ofi_nccl, "");
    EXPECT_EQ(read_network("EFA 400 Gb/s, aws-ofi-nccl 1.7.4").nccl, "") << "the plugin's is not NCCL's";
    EXPECT_EQ(read_network("8x NDR400 IB, measured by nccl-tests").nccl, "");
}

}  // namespace
}  // namespace orrery::validate
