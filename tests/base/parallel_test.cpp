#include "base/parallel.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace orrery {
namespace {

TEST(Parallel, EveryItemOnceOnAnyNumberOfThreads) {
    for (const unsigned threads : {0U, 1U, 3U, 40U}) {
        std::vector<std::atomic<int>> done(17);
        for_each_on(threads, done.size(), [&](std::size_t i) { ++done[i]; });
        for (const auto& times : done) EXPECT_EQ(times, 1) << threads;
    }
    for_each_on(2, 0, [](std::size_t) { FAIL(); });
}

TEST(Parallel, WhatOneThrowsIsThrown) {
    const auto work = [](std::size_t i) {
        if (i == 5) throw std::runtime_error("the sixth");
    };
    EXPECT_THROW(for_each_on(2, 1000, work), std::runtime_error);
    EXPECT_THROW(for_each_on(1, 6, work), std::runtime_error);
}

}  // namespace
}  // namespace orrery
