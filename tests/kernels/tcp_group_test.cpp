// Ranks that meet over TCP, as threads of one process.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "kernels/device.hpp"
#include "kernels/host_group.hpp"
#include "kernels/tcp/socket.hpp"

namespace orrery::kernels {
namespace {

constexpr const char* secret = "the secret of this test";

/// A port that nothing listens at just now.
std::uint16_t free_port() { return tcp::port_of(tcp::listen_at("127.0.0.1", 0)); }

/// Runs f(group) as each rank.
template <class F>
void as_ranks(std::uint32_t ranks, F f) {
    const std::uint16_t port = free_port();
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        threads.emplace_back([=] { f(*connect_by_tcp({rank, ranks, rank, "127.0.0.1", port, secret}, 60)); });
    for (std::thread& thread : threads) thread.join();
}

TEST(TcpGroup, EveryRankGetsEveryText) {
    constexpr std::uint32_t ranks = 5;
    std::mutex mutex;
    std::vector<std::vector<std::string>> got(ranks);
    as_ranks(ranks, [&](HostGroup& group) {
        EXPECT_EQ(group.ranks(), ranks);
        for (int round = 0; round < 20; ++round) {
            // Of different lengths, empty ones and some longer than a socket's buffer.
            const std::string own(group.rank() * 100'000 * (round % 2), static_cast<char>('a' + group.rank()));
            const auto all = group.all_gather(own + std::to_string(round));
            const std::lock_guard lock(mutex);
            got[group.rank()] = all;
            for (std::uint32_t r = 0; r < ranks; ++r)
                EXPECT_EQ(all.at(r),
                          std::string(r * 100'000 * (round % 2), static_cast<char>('a' + r)) + std::to_string(round));
        }
    });
    for (const auto& all : got) EXPECT_EQ(all, got[0]);
}

TEST(TcpGroup, NoRankHangsWhenOneEnds) {
    as_ranks(3, [](HostGroup& group) {
        if (group.rank() == 1) return;  // ends: its connection closes
        EXPECT_THROW(group.all_gather("x"), DeviceError);
    });
}

TEST(TcpGroup, GivesUpWhenTheOthersDoNotCome) {
    EXPECT_THROW(connect_by_tcp({0, 2, 0, "127.0.0.1", free_port(), secret}, 0.2), DeviceError);
    EXPECT_THROW(connect_by_tcp({1, 2, 1, "127.0.0.1", free_port(), secret}, 0.2), DeviceError);
}

TEST(TcpGroup, AloneIsAGroupToo) {
    const auto group = alone();
    EXPECT_EQ(group->ranks(), 1u);
    EXPECT_EQ(group->all_gather("own"), std::vector<std::string>{"own"});
}

}  // namespace
}  // namespace orrery::kernels
