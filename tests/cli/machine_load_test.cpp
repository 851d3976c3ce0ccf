#include "cli/machine_load.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace orrery::cli {
namespace {

TEST(MachineLoad, CountsWhatIsNotIdle) {
    EXPECT_DOUBLE_EQ(busy_seconds("cpu  100 20 30 4000 500 6 7 8 90 10\ncpu0 1 1 1 1 1 1 1 1", 100), 1.71);
    EXPECT_LT(busy_seconds("", 100), 0);
    EXPECT_LT(busy_seconds("cpu  1 2 three", 100), 0);
    EXPECT_LT(busy_seconds("intr 1 2 3 4 5 6 7 8", 100), 0);
}

TEST(MachineLoad, SeesAnotherProcess) {
    const pid_t busy = fork();
    if (busy == 0)
        for (;;) (void)getpid();
    ASSERT_GT(busy, 0);
    const OtherLoad others;
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const double cores = others.cores();
    kill(busy, SIGKILL);
    waitpid(busy, nullptr, 0);
    EXPECT_GT(cores, 0.5);
    EXPECT_LE(cores, 1.1 * std::thread::hardware_concurrency());
}

}  // namespace
}  // namespace orrery::cli
