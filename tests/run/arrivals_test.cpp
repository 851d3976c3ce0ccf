// Lanes that wait for each other's operations, and what they learn when one fails.
#include "run/arrivals.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "kernels/device.hpp"

namespace orrery::run {
namespace {

TEST(Arrivals, AWaitEndsWhenTheOperationHas) {
    Arrivals arrivals(2);
    for (int step = 0; step < 100; ++step) {
        arrivals.begin();
        std::atomic<bool> done = false;
        std::thread other([&] {
            arrivals.await(0);
            EXPECT_TRUE(done.load());
            arrivals.arrive(1);
        });
        done = true;
        arrivals.arrive(0);
        arrivals.await(1);
        other.join();
    }
}

TEST(Arrivals, AFailureReachesAllWhoWaitAndStaysWithinItsStep) {
    Arrivals arrivals(3);
    arrivals.begin();
    arrivals.arrive(0);
    std::vector<std::thread> waiting;
    for (const std::uint32_t item : {1u, 2u})
        waiting.emplace_back([&, item] { EXPECT_THROW(arrivals.await(item), kernels::DeviceError); });
    arrivals.fail();
    for (std::thread& thread : waiting) thread.join();
    EXPECT_NO_THROW(arrivals.await(0)) << "it had ended before";
    arrivals.begin();
    arrivals.arrive(1);
    EXPECT_NO_THROW(arrivals.await(1));
}

}  // namespace
}  // namespace orrery::run
