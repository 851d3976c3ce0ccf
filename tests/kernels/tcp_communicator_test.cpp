// Collectives and messages over TCP, exactly: ranks are threads with devices of their own, connected over loopback.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

#include "base/error.hpp"
#include "kernels/bfloat16.hpp"
#include "kernels/float16.hpp"
#include "kernels/tcp/ring.hpp"
#include "kernels/tcp/socket.hpp"
#include "kernels/tcp_world.hpp"

namespace orrery::kernels {
namespace {

/// Runs f(device, world) as each rank; the first failure is thrown here.
void as_ranks(std::uint32_t ranks, const std::function<void(Device&, Communicator&)>& f) {
    const std::uint16_t port = tcp::port_of(tcp::listen_at("127.0.0.1", 0));
    std::mutex mutex;
    std::exception_ptr failure;
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            try {
                const auto device = open_device("cpu");
                const auto world =
                    tcp_world(*device, {rank, ranks, rank, "127.0.0.1", port, "the secret of this test"}, 60);
                f(*device, *world);
                device->synchronize();
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (!failure) failure = std::current_exception();
            }
        });
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

/// Differs between ranks and places, small enough for exact sums.
float element(std::uint32_t rank, std::size_t i) { return static_cast<float>(1000 * rank + i % 101 + 1); }

float sum(std::uint32_t ranks, std::size_t i) {
    float total = 0;
    for (std::uint32_t r = 0; r < ranks; ++r) total += element(r, i);
    return total;
}

/// What a rank receives of a collective over `whole` elements.
std::vector<float> received(Device& device, Communicator& world, CollectiveKind kind, std::size_t whole,
                            Reduction reduction = Reduction::sum) {
    const std::uint64_t bytes = whole * sizeof(float);
    std::vector<float> send(send_bytes(kind, bytes, world.ranks()) / sizeof(float));
    std::vector<float> receive(receive_bytes(kind, bytes, world.ranks()) / sizeof(float), -1.0f);
    for (std::size_t i = 0; i < send.size(); ++i) send[i] = element(world.rank(), i);
    world.run(kind, send.data(), receive.data(), bytes, Dtype::fp32, 1, reduction);
    device.synchronize();
    return receive;
}

TEST(TcpCommunicator, AllReduceSumsWhateverTheSize) {
    for (const std::uint32_t ranks : {2U, 3U, 4U})
        as_ranks(ranks, [](Device& device, Communicator& world) {
            EXPECT_EQ(world.nodes(), 1U);
            for (const std::size_t count : {1U, 2U, 7U, 100'003U}) {
                const auto found = received(device, world, CollectiveKind::all_reduce, count);
                for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(found[i], sum(world.ranks(), i)) << count;
            }
            const auto most = received(device, world, CollectiveKind::all_reduce, 50, Reduction::maximum);
            for (std::size_t i = 0; i < most.size(); ++i) ASSERT_EQ(most[i], element(world.ranks() - 1, i));
        });
}

TEST(TcpCommunicator, SharesOutAndGathers) {
    as_ranks(3, [](Device& device, Communicator& world) {
        const std::size_t part = 40'001;
        const std::uint32_t rank = world.rank(), ranks = world.ranks();
        const auto scattered = received(device, world, CollectiveKind::reduce_scatter, part * ranks);
        ASSERT_EQ(scattered.size(), part);
        for (std::size_t i = 0; i < part; ++i) ASSERT_EQ(scattered[i], sum(ranks, rank * part + i));
        const auto gathered = received(device, world, CollectiveKind::all_gather, part * ranks);
        for (std::size_t i = 0; i < gathered.size(); ++i)
            ASSERT_EQ(gathered[i], element(static_cast<std::uint32_t>(i / part), i % part));
        const auto turned = received(device, world, CollectiveKind::all_to_all, part * ranks);
        for (std::size_t i = 0; i < turned.size(); ++i)
            ASSERT_EQ(turned[i], element(static_cast<std::uint32_t>(i / part), rank * part + i % part));
        const auto copied = received(device, world, CollectiveKind::broadcast, 300'000);
        for (std::size_t i = 0; i < copied.size(); ++i) ASSERT_EQ(copied[i], element(0, i));
        const auto passed = received(device, world, CollectiveKind::send_recv, 300'000);
        for (std::size_t i = 0; i < passed.size(); ++i) ASSERT_EQ(passed[i], element((rank + ranks - 1) % ranks, i));
    });
}

/// Small whole numbers, whose sums 16 bits hold exactly.
template <class Half>
void expect_sums(Dtype dtype) {
    as_ranks(3, [&](Device& device, Communicator& world) {
        const std::size_t part = 40'001, whole = part * world.ranks();
        const auto number = [](std::uint32_t rank, std::size_t i) { return static_cast<float>(rank + i % 61); };
        std::vector<Half> send(whole), sums(whole), own(part), most(whole);
        for (std::size_t i = 0; i < whole; ++i) send[i] = from_float<Half>(number(world.rank(), i));
        const std::uint64_t bytes = whole * sizeof(Half);
        world.run(CollectiveKind::all_reduce, send.data(), sums.data(), bytes, dtype, 1);
        world.run(CollectiveKind::reduce_scatter, send.data(), own.data(), bytes, dtype, 1);
        world.run(CollectiveKind::all_reduce, send.data(), most.data(), bytes, dtype, 1, Reduction::maximum);
        device.synchronize();
        for (std::size_t i = 0; i < whole; ++i) {
            ASSERT_EQ(to_float(sums[i]), number(0, i) + number(1, i) + number(2, i));
            ASSERT_EQ(to_float(most[i]), number(2, i));
        }
        for (std::size_t i = 0; i < part; ++i) ASSERT_EQ(own[i].bits, sums[world.rank() * part + i].bits);
    });
}

TEST(TcpCommunicator, SumsInSixteenBits) {
    expect_sums<Bfloat16>(Dtype::bf16);
    expect_sums<Float16>(Dtype::fp16);
}

TEST(TcpCommunicator, WorksInPlaceAsNcclDoes) {
    as_ranks(4, [](Device& device, Communicator& world) {
        const std::size_t part = 1001, whole = part * world.ranks();
        std::vector<float> vector(whole);
        const auto fill = [&] {
            for (std::size_t i = 0; i < whole; ++i) vector[i] = element(world.rank(), i);
        };
        float* const own = vector.data() + world.rank() * part;
        fill();
        world.run(CollectiveKind::all_reduce, vector.data(), vector.data(), 4 * whole, Dtype::fp32, 1);
        device.synchronize();
        for (std::size_t i = 0; i < whole; ++i) ASSERT_EQ(vector[i], sum(world.ranks(), i));
        fill();
        world.run(CollectiveKind::reduce_scatter, vector.data(), own, 4 * whole, Dtype::fp32, 1);
        world.run(CollectiveKind::all_gather, own, vector.data(), 4 * whole, Dtype::fp32, 1);
        device.synchronize();
        for (std::size_t i = 0; i < whole; ++i) ASSERT_EQ(vector[i], sum(world.ranks(), i));
    });
}

TEST(TcpCommunicator, MessagesOfBothDirectionsMeetInOrder) {
    as_ranks(2, [](Device& device, Communicator& world) {
        constexpr std::size_t count = 200'000;  // more than the connection holds
        const std::uint32_t other = 1 - world.rank();
        std::vector<float> first(count, static_cast<float>(world.rank())), second(count, 7), got(2 * count);
        world.send(first.data(), 4 * count, other, 1);
        world.send(second.data(), 4 * count, other, 1);
        world.receive(got.data(), 4 * count, other, 2);
        world.receive(got.data() + count, 4 * count, other, 2);
        device.synchronize();
        EXPECT_EQ(got.front(), static_cast<float>(other));
        EXPECT_EQ(got[count - 1], static_cast<float>(other));
        EXPECT_EQ(got.back(), 7);
    });
}

TEST(TcpCommunicator, PartsWorkBesideEachOther) {
    as_ranks(4, [](Device& device, Communicator& world) {
        const auto pair = world.split(world.rank() / 2);
        const auto all = world.split(0);
        EXPECT_EQ(pair->ranks(), 2U);
        EXPECT_EQ(pair->rank(), world.rank() % 2);
        std::vector<float> mine(50'000, static_cast<float>(world.rank())), ours(50'000, 1);
        pair->run(CollectiveKind::all_reduce, mine.data(), mine.data(), 200'000, Dtype::fp32, 1);
        all->run(CollectiveKind::all_reduce, ours.data(), ours.data(), 200'000, Dtype::fp32, 2);
        device.synchronize();
        EXPECT_EQ(mine[49'999], world.rank() < 2 ? 1 : 5);
        EXPECT_EQ(ours[0], 4);
    });
}

TEST(TcpCommunicator, HostsAgree) {
    as_ranks(3, [](Device&, Communicator& world) {
        EXPECT_EQ(world.maximum(world.rank() == 1 ? 2.5 : -1.0), 2.5);
        EXPECT_EQ(world.from_first("from " + std::to_string(world.rank())), "from 0");
        EXPECT_EQ(world.texts(std::to_string(world.rank())), (std::vector<std::string>{"0", "1", "2"}));
        world.barrier();
    });
}

TEST(TcpCommunicator, RefusesWhatItCannotDo) {
    as_ranks(2, [](Device& device, Communicator& world) {
        std::vector<float> vector(6);
        const auto run = [&](CollectiveKind kind, std::uint64_t bytes, Dtype dtype, Stream stream) {
            world.run(kind, vector.data(), vector.data(), bytes, dtype, stream);
        };
        EXPECT_THROW(run(CollectiveKind::all_reduce, 8, Dtype::fp8, 1), Error);
        EXPECT_THROW(run(CollectiveKind::all_reduce, 7, Dtype::fp32, 1), Error);
        EXPECT_THROW(run(CollectiveKind::all_gather, 12, Dtype::fp32, 1), Error) << "3 elements, 2 ranks";
        run(CollectiveKind::all_reduce, 8, Dtype::fp32, 1);
        EXPECT_THROW(run(CollectiveKind::all_reduce, 8, Dtype::fp32, 2), Error) << "a second stream";
        device.synchronize();
    });
}

TEST(TcpCommunicator, NoRankHangsWhenOneEnds) {
    EXPECT_THROW(as_ranks(3,
                          [](Device& device, Communicator& world) {
                              if (world.rank() == 1) return;  // its connections close
                              std::vector<float> vector(100'000);
                              world.run(CollectiveKind::all_reduce, vector.data(), vector.data(), 400'000, Dtype::fp32,
                                        1);
                              device.synchronize();
                          }),
                 DeviceError);
}

TEST(TcpRing, PartsAreEven) {
    EXPECT_EQ(tcp::even_parts(8, 4), (std::vector<std::uint64_t>{0, 2, 4, 6, 8}));
    EXPECT_EQ(tcp::even_parts(7, 3), (std::vector<std::uint64_t>{0, 3, 5, 7}));
    EXPECT_EQ(tcp::even_parts(1, 3), (std::vector<std::uint64_t>{0, 1, 1, 1}));
}

TEST(TcpSocket, FindsItsAddressOnTheWayToAnother) {
    EXPECT_EQ(tcp::address_towards("127.0.0.1", 80), "127.0.0.1");
    EXPECT_THROW((void)tcp::address_towards("no.such.host.invalid", 80), DeviceError);
}

}  // namespace
}  // namespace orrery::kernels
