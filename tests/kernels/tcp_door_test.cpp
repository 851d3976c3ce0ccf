// Strangers at the port where ranks meet.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/host_name.hpp"
#include "kernels/host_group.hpp"
#include "kernels/tcp/door.hpp"
#include "kernels/tcp_world.hpp"

namespace orrery::kernels {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using tcp::Clock;

constexpr const char* secret = "0123456789abcdef0123456789abcdef";
constexpr const char* here = "127.0.0.1";

std::uint16_t free_port() { return tcp::port_of(tcp::listen_at(here, 0)); }

tcp::Socket stranger(std::uint16_t port) { return tcp::connect_to(here, port, Clock::now() + seconds(10)); }

void say(const tcp::Socket& socket, const std::string& text) {
    (void)!::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

/// What a program says that knows the protocol but not the secret.
std::string greeting(const std::string& of) {
    const tcp::Halves halves(of);
    const std::uint32_t words[3] = {0x4f52'5932, 1, 0};
    return std::string(reinterpret_cast<const char*>(words), sizeof words) +
           std::string(halves.guest.data(), halves.guest.size());
}

/// Two ranks meet while `disturb` goes on at the port of the first; how long they took.
Clock::duration meeting(const std::function<void(std::uint16_t port)>& disturb) {
    const std::uint16_t port = free_port();
    std::atomic<int> met = 0;
    const auto rank = [&](std::uint32_t own) {
        const auto group = connect_by_tcp({own, 2, own, here, port, secret}, 60);
        if (group->all_gather(std::to_string(own)) == std::vector<std::string>{"0", "1"}) ++met;
    };
    std::thread first(rank, 0);
    disturb(port);
    const Clock::time_point begin = Clock::now();
    std::thread second(rank, 1);
    first.join();
    second.join();
    EXPECT_EQ(met, 2);
    return Clock::now() - begin;
}

TEST(TcpDoor, AStrangerWhoLeavesFailsNobody) {
    meeting([](std::uint16_t port) {
        for (int i = 0; i < 20; ++i) (void)stranger(port);
        const tcp::Socket abrupt = stranger(port);
        const linger at_once{1, 0};  // a reset instead of an end
        setsockopt(abrupt.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    });
}

TEST(TcpDoor, SilentAndTalkativeStrangersHoldNobodyUp) {
    std::vector<tcp::Socket> strangers;  // all stay
    const Clock::duration taken = meeting([&](std::uint16_t port) {
        for (const std::string& text :
             {std::string(), std::string("GET / HTTP/1.0\r\n\r\n"), std::string(1000, '\0'), greeting(""),
              greeting("another secret of a job"), greeting(secret).substr(0, 70), std::string("\xff")}) {
            strangers.push_back(stranger(port));
            say(strangers.back(), text);
        }
    });
    EXPECT_LT(taken, seconds(4)) << "less than a silent guest may take";
}

TEST(TcpDoor, ManyStrangersDoNotFillIt) {
    std::vector<tcp::Socket> strangers;
    meeting([&](std::uint16_t port) {
        for (std::size_t i = 0; i < tcp::Door::most_waiting + 50; ++i) strangers.push_back(stranger(port));
    });
}

TEST(TcpDoor, StrangersAtEveryPortOfAWorldAreSentAway) {
    const std::uint16_t port = free_port();
    std::atomic<bool> over = false;
    std::thread knocking([&] {
        while (!over) try {
                const tcp::Socket socket = tcp::connect_to(here, port, Clock::now() + milliseconds(200));
                say(socket, greeting(""));
            } catch (const DeviceError&) {
                continue;  // nobody listens any more
            }
    });
    std::vector<std::thread> ranks;
    std::atomic<int> right = 0;
    for (std::uint32_t rank = 0; rank < 3; ++rank)
        ranks.emplace_back([&, rank] {
            const auto device = open_device("cpu");
            const auto world = tcp_world(*device, {rank, 3, rank, here, port, secret}, 60);
            if (world->maximum(rank) == 2) ++right;
            world->barrier();
        });
    for (std::thread& rank : ranks) rank.join();
    over = true;
    knocking.join();
    EXPECT_EQ(right, 3);
}

TEST(TcpDoor, IsOpenAtItsAddressAlone) {
    tcp::Door door(here, 0, secret);
    EXPECT_NO_THROW((void)stranger(door.port()));
    EXPECT_THROW((void)tcp::connect_to("127.0.0.2", door.port(), Clock::now() + milliseconds(50)), DeviceError);
    EXPECT_THROW(tcp::Door("192.0.2.1", 0, secret), DeviceError) << "an address of no host";
}

/// Debian gives a host's own name 127.0.1.1.
TEST(TcpDoor, ListensWhereOthersCallIt) {
    EXPECT_EQ(tcp::address_to_listen_at("127.0.0.1"), "127.0.0.1");
    EXPECT_EQ(tcp::address_to_listen_at("::1"), "::1");
    EXPECT_EQ(tcp::address_to_listen_at("localhost"), "localhost");
    const std::string own = tcp::address_to_listen_at(host_name());
    EXPECT_TRUE(own.empty() || own == host_name()) << own;
    EXPECT_NO_THROW(tcp::Door(host_name(), 0, secret));
}

TEST(TcpDoor, AJobWithoutASecretIsRefused) {
    for (const std::uint32_t rank : {0U, 1U}) {
        try {
            (void)connect_by_tcp({rank, 2, rank, here, free_port(), ""}, 1);
            ADD_FAILURE() << "rank " << rank << " listened or called";
        } catch (const Error& error) {
            EXPECT_NE(error.hint().find("ORRERY_SECRET=$("), std::string::npos) << error.what();
        }
    }
}

TEST(TcpDoor, ARankWithAnotherSecretStaysOutside) {
    const std::uint16_t port = free_port();
    std::thread first([&] { EXPECT_THROW(connect_by_tcp({0, 2, 0, here, port, secret}, 1), DeviceError); });
    try {
        (void)connect_by_tcp({1, 2, 1, here, port, "a secret of another job"}, 1);
        ADD_FAILURE() << "it was let in";
    } catch (const DeviceError& error) {
        EXPECT_NE(std::string(error.what()).find("ORRERY_SECRET"), std::string::npos) << error.what();
    }
    first.join();
}

/// Somebody who took the port before rank 0 did.
TEST(TcpDoor, AGuestKnowsAFalseDoor) {
    tcp::Door false_door(here, 0, std::string(secret).substr(0, 16) + "guessed guessed!");
    std::thread behind([&] { EXPECT_TRUE(false_door.next(Clock::now() + seconds(1))); });
    EXPECT_THROW((void)tcp::knock(here, false_door.port(), secret, {1, 0}, Clock::now() + milliseconds(500)),
                 DeviceError);
    behind.join();
}

TEST(TcpDoor, RefusesSecretsThatAreNone) {
    EXPECT_THROW(tcp::Halves("short"), Error);
    EXPECT_THROW(tcp::Halves(std::string(129, 'x')), Error);
    EXPECT_NO_THROW(tcp::Halves(std::string(128, 'x')));
}

}  // namespace
}  // namespace orrery::kernels
