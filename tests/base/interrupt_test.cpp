// Each in a process of its own, as an interrupt ends it.
#include "base/interrupt.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <thread>

namespace orrery {
namespace {

/// Waits for the end that comes from another thread.
[[noreturn]] void wait_for_the_end() {
    for (;;) ::pause();
}

void interrupted_with(int signal) {
    end_when_interrupted("planets");
    const UndoneWhenInterrupted outer([] { std::fputs("outer ", stderr); });
    {
        const UndoneWhenInterrupted over([] { std::fputs("over ", stderr); });
    }
    const UndoneWhenInterrupted inner([] { std::fputs("inner ", stderr); });
    ::kill(::getpid(), signal);
    wait_for_the_end();
}

TEST(InterruptDeathTest, UndoesTheNewestFirstAndEndsWith130) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        EXPECT_EXIT(interrupted_with(signal), testing::ExitedWithCode(130), "^inner outer planets: interrupted\n$");
}

/// Sends itself two signals that are taken, and ends by a third.
void takes_two() {
    end_when_interrupted("planets");
    std::atomic<int> taken = 0;
    {
        const InterruptsTaken take([&](int signal, bool from_terminal) {
            if (signal == SIGTERM && !from_terminal) ++taken;
        });
        for (int count = 1; count <= 2; ++count) {
            ::kill(::getpid(), SIGTERM);
            while (taken < count) std::this_thread::yield();
        }
    }
    std::fputs("two taken ", stderr);
    ::kill(::getpid(), SIGTERM);
    wait_for_the_end();
}

TEST(InterruptDeathTest, AreTakenAsLongAsSomebodyWantsThem) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(takes_two(), testing::ExitedWithCode(130), "^two taken planets: interrupted\n$");
}

void held_back() {
    end_when_interrupted("planets");
    {
        const auto whole = hold_interrupts();
        ::kill(::getpid(), SIGINT);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        std::fputs("done ", stderr);
    }
    wait_for_the_end();
}

TEST(InterruptDeathTest, WaitsForStepsThatMustBeWhole) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(held_back(), testing::ExitedWithCode(130), "^done planets: interrupted\n$");
}

}  // namespace
}  // namespace orrery
