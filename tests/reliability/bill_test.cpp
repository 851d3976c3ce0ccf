// GPU-hours, energy, CO2 and money.
#include "reliability/bill.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "hardware/gpu.hpp"

namespace orrery::reliability {
namespace {

constexpr double hour = 3600;

TEST(Bill, EnergyIsLlamas) {
    // Touvron et al. 2023, table 15: 1,022,362 GPU-hours at 400 W and a PUE of 1.1 are 449 MWh and 173 t of CO2.
    const Bill all = bill({}, hardware::power_of("A100-SXM4-80GB"), 2048, 1022362 / 2048. * hour);
    EXPECT_NEAR(all.gpu_hours, 1022362, 1e-3);
    EXPECT_NEAR(all.mwh.low, 449, 1);
    EXPECT_NEAR(all.co2_tonnes.low, 173, 0.5);
    EXPECT_NEAR(all.mwh.high / all.mwh.low, 6500 / 3200., 1e-9);  // whole nodes
    EXPECT_FALSE(all.money);
}

TEST(Bill, MeasuredPowerLiesInTheRange) {
    // Patterson et al. 2021, table 4: 330 W a V100, host included, PUE 1.1: 1,287 MWh in 14.8 days of 10,000.
    const Bill all = bill({}, hardware::power_of("V100-SXM2-32GB"), 10000, 14.8 * 24 * hour);
    EXPECT_LT(all.mwh.low, 1287);
    EXPECT_GT(all.mwh.high, 1287);
    Costs costs;
    costs.gpu_watts = 300;
    costs.host_watts = 30;
    const Bill stated = bill(costs, hardware::power_of("V100-SXM2-32GB"), 10000, 14.8 * 24 * hour);
    EXPECT_NEAR(stated.mwh.low, 1287, 5);
    EXPECT_EQ(stated.mwh.low, stated.mwh.high);
}

TEST(Bill, RentIsHoursTimesPrice) {
    Costs costs;
    costs.gpu_hour = 2;
    const Bill all = bill(costs, hardware::power_of("A100-SXM4-40GB"), 440, 9.5 * 24 * hour);
    EXPECT_NEAR(all.money.value().low, 200640, 1);  // MPT-7B: "about $200k"
    EXPECT_EQ(all.money->low, all.money->high);
}

TEST(Bill, PurchaseIsWrittenOffAndPaysItsEnergy) {
    Costs costs;
    costs.purchase = 30000;
    costs.years_of_use = 4;
    costs.network_share = 0.2;
    costs.hosting_share = 0.05;
    costs.kwh = 0.1;
    costs.gpu_watts = 700;
    costs.host_watts = 300;
    const Bill all = bill(costs, {}, 1, 365.25 * 24 * hour);
    EXPECT_NEAR(all.money.value().low, 30000 * 1.2 / 4 + 30000 * 0.05 + 365.25 * 24 * 1.1 * 0.1, 1e-6);
}

TEST(Bill, EveryGpuHasItsPowerOrIsKnownToLackIt) {
    for (const hardware::Gpu& gpu : hardware::gpus()) {
        const hardware::Power watts = hardware::power_of(gpu.name);
        const bool unpublished = gpu.name == "B300" || gpu.name == "GB300" || gpu.name.starts_with("TPU-v5") ||
                                 gpu.name == "TPU-v6e" || gpu.name == "TPU7x";
        EXPECT_EQ(watts.gpu == 0, unpublished) << gpu.name;
        if (watts.node > 0) {
            EXPECT_GT(watts.node, watts.gpu) << gpu.name;
        }
    }
    EXPECT_EQ(hardware::power_of("no such").gpu, 0);
}

TEST(Bill, ContradictionsNameTheirKey) {
    const auto pointer = [](const Costs& costs) {
        try {
            check(costs);
        } catch (const Error& error) {
            EXPECT_FALSE(error.hint().empty());
            return error.pointer();
        }
        return std::string("none");
    };
    Costs both;
    both.gpu_hour = 2;
    both.purchase = 30000;
    EXPECT_EQ(pointer(both), "/costs/purchase_price_per_gpu");
    Costs endless;
    endless.purchase = 30000;
    EXPECT_EQ(pointer(endless), "/costs/purchase_price_per_gpu");
    Costs negative;
    negative.gpu_hour = -1;
    EXPECT_EQ(pointer(negative), "/costs/price_per_gpu_hour");
    EXPECT_EQ(pointer({}), "none");
}

}  // namespace
}  // namespace orrery::reliability
