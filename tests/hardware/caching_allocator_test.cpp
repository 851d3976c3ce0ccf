#include "hardware/caching_allocator.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace orrery::hardware {

namespace {

constexpr std::uint64_t kib = 1ULL << 10U, mib = 1ULL << 20U;

}  // namespace

TEST(CachingAllocator, SegmentsComeInTheSizesOfPyTorch) {
    CachingAllocator allocator;
    ASSERT_TRUE(allocator.take(1));  // of 2 MiB
    EXPECT_EQ(allocator.allocated(), 512U);
    EXPECT_EQ(allocator.reserved(), 2 * mib);
    ASSERT_TRUE(allocator.take(mib));  // the rest of it has room
    EXPECT_EQ(allocator.reserved(), 2 * mib);
    ASSERT_TRUE(allocator.take(mib + 1));  // below 10 MiB: of 20 MiB
    EXPECT_EQ(allocator.reserved(), 22 * mib);
    ASSERT_TRUE(allocator.take(30 * mib + 1));  // in multiples of 2 MiB, of which less than 1 MiB is not split off
    EXPECT_EQ(allocator.reserved(), 54 * mib);
    EXPECT_EQ(allocator.allocated(), 512 + mib + mib + 512 + 30 * mib + 512);
}

TEST(CachingAllocator, TheSmallestBlockThatHoldsItIsTaken) {
    CachingAllocator allocator;
    const auto large = allocator.take(64 * mib), middle = allocator.take(32 * mib);
    ASSERT_TRUE(large && middle);
    allocator.give(*large);
    allocator.give(*middle);
    const auto taken = allocator.take(20 * mib);
    ASSERT_TRUE(taken);
    EXPECT_EQ(*taken, *middle);
    EXPECT_EQ(allocator.take(12 * mib), *middle + 20 * mib) << "what was split off";
    EXPECT_EQ(allocator.reserved(), 96 * mib);
}

/// What most fragmentation is: a small tensor that lasts, where a large one was and comes again.
TEST(CachingAllocator, WhatLastsInALargeBlockMakesAnotherNecessary) {
    CachingAllocator allocator;
    const auto logits = allocator.take(1024 * mib);
    ASSERT_TRUE(logits);
    allocator.give(*logits);
    ASSERT_TRUE(allocator.take(8 * mib));
    ASSERT_TRUE(allocator.take(1024 * mib));
    EXPECT_EQ(allocator.reserved(), 2048 * mib);
}

TEST(CachingAllocator, FreedNeighboursJoin) {
    CachingAllocator allocator;
    const auto whole = allocator.take(40 * mib);
    ASSERT_TRUE(whole);
    allocator.give(*whole);
    const auto a = allocator.take(12 * mib), b = allocator.take(14 * mib), c = allocator.take(14 * mib);
    ASSERT_TRUE(a && b && c);
    for (const auto& each : {a, c, b}) allocator.give(*each);
    EXPECT_EQ(allocator.take(40 * mib), *whole);
    EXPECT_EQ(allocator.reserved(), 40 * mib);
}

TEST(CachingAllocator, UnusedSegmentsGoBackWhenTheDriverHasNoMore) {
    CachingAllocator allocator(100 * mib);
    const auto first = allocator.take(60 * mib);
    ASSERT_TRUE(first && allocator.take(20 * mib));
    allocator.give(*first);
    ASSERT_TRUE(allocator.take(70 * mib)) << "the segment of 60 MiB went back";
    EXPECT_EQ(allocator.reserved(), 90 * mib);
    EXPECT_EQ(allocator.retries(), 1U);
    EXPECT_FALSE(allocator.take(20 * mib));
    EXPECT_EQ(allocator.allocated(), 90 * mib) << "a request that fails takes nothing";
}

/// Blocks in use never overlap, nothing is lost, and what is reserved holds what is allocated.
TEST(CachingAllocator, BlocksAreApart) {
    std::mt19937_64 random(7);
    std::map<CachingAllocator::Address, std::uint64_t> used;  // requested bytes
    CachingAllocator allocator;
    for (int step = 0; step < 20'000; ++step) {
        if (!used.empty() && random() % 2 == 0) {
            const auto given = std::next(used.begin(), static_cast<std::ptrdiff_t>(random() % used.size()));
            allocator.give(given->first);
            used.erase(given);
        } else {
            const std::uint64_t bytes = 1 + random() % (random() % 2 == 0 ? 800 * kib : 60 * mib);
            const auto address = allocator.take(bytes);
            ASSERT_TRUE(address);
            const auto next = used.lower_bound(*address);
            ASSERT_TRUE(next == used.end() || *address + bytes <= next->first);
            ASSERT_TRUE(next == used.begin() || std::prev(next)->first + std::prev(next)->second <= *address);
            used.emplace(*address, bytes);
        }
        std::uint64_t requested = 0;
        for (const auto& [address, bytes] : used) requested += bytes;
        ASSERT_GE(allocator.allocated(), requested);
        ASSERT_GE(allocator.reserved(), allocator.allocated());
        ASSERT_EQ(allocator.reserved(), allocator.most_reserved()) << "segments stay";
    }
    for (const auto& [address, bytes] : used) allocator.give(address);
    EXPECT_EQ(allocator.allocated(), 0U);
}

}  // namespace orrery::hardware
