#include "kernels/tcp/tcp_communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "base/error.hpp"
#include "base/host_name.hpp"
#include "kernels/bfloat16.hpp"
#include "kernels/float16.hpp"
#include "kernels/processes.hpp"
#include "kernels/tcp_world.hpp"

namespace orrery::kernels {

namespace tcp {

namespace {

bool reduces(CollectiveKind kind) {
    return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
}

bool shared_out(CollectiveKind kind) {
    return kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter ||
           kind == CollectiveKind::all_to_all;
}

void copy_unless_same(void* to, const void* from, std::uint64_t bytes) {
    if (to != from) std::memcpy(to, from, bytes);
}

}  // namespace

struct TcpCommunicator::Job {
    CollectiveKind kind;
    const std::byte* send;
    std::byte* receive;
    std::uint64_t bytes;
    Dtype dtype;
    Reduction reduction;
};

TcpCommunicator::TcpCommunicator(Device& device, std::unique_ptr<HostGroup> group, std::string address,
                                 std::string secret, double timeout_seconds)
    : device_(device),
      group_(std::move(group)),
      address_(std::move(address)),
      secret_(std::move(secret)),
      timeout_seconds_(timeout_seconds),
      timeout_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_seconds))),
      mesh_(*group_, address_, secret_, timeout_) {
    const auto hosts = group_->all_gather(host_name());
    nodes_ = static_cast<std::uint32_t>(std::set<std::string>(hosts.begin(), hosts.end()).size());
}

/// What is queued uses the connections.
TcpCommunicator::~TcpCommunicator() {
    try {
        device_.synchronize();
    } catch (...) {  // its error was, or will be, thrown to who waits for the work
        return;
    }
}

Ring TcpCommunicator::ring() const {
    const std::uint32_t n = ranks();
    return {rank(), n, &mesh_.to((rank() + 1) % n, Purpose::collective),
            &mesh_.to((rank() + n - 1) % n, Purpose::collective), timeout_};
}

/// all_reduce and reduce_scatter of elements T.
template <class T>
void TcpCommunicator::combine(const Ring& ring, const Job& job) const {
    std::vector<std::uint64_t> bounds = even_parts(job.bytes / sizeof(T), ring.ranks);
    const bool whole = job.kind == CollectiveKind::all_reduce;
    auto* const out = reinterpret_cast<T*>(job.receive) + (whole ? bounds[rank()] : 0);
    reduce_scatter(ring, reinterpret_cast<const T*>(job.send), out, bounds, job.reduction);
    for (std::uint64_t& bound : bounds) bound *= sizeof(T);
    if (whole) all_gather(ring, job.receive, bounds);
}

void TcpCommunicator::perform(const Job& job) const {
    const Ring ring = this->ring();
    const std::uint32_t n = ring.ranks;
    const std::uint64_t part = job.bytes / n;
    const bool messages = job.kind == CollectiveKind::all_to_all || job.kind == CollectiveKind::send_recv;
    if (n > 1 && !messages) begin_together(ring);
    const std::vector<std::uint64_t> bounds = even_parts(job.bytes, n);
    switch (job.kind) {
        case CollectiveKind::all_reduce:
        case CollectiveKind::reduce_scatter:
            if (n == 1) return copy_unless_same(job.receive, job.send, job.bytes);
            if (job.dtype == Dtype::fp32) return combine<float>(ring, job);
            return job.dtype == Dtype::fp16 ? combine<Float16>(ring, job) : combine<Bfloat16>(ring, job);
        case CollectiveKind::all_gather:
            copy_unless_same(job.receive + bounds[rank()], job.send, part);
            return all_gather(ring, job.receive, bounds);
        case CollectiveKind::broadcast:
            if (rank() == 0) copy_unless_same(job.receive, job.send, job.bytes);
            return broadcast(ring, job.receive, job.bytes);
        case CollectiveKind::all_to_all:
            copy_unless_same(job.receive + rank() * part, job.send + rank() * part, part);
            for (std::uint32_t shift = 1; shift < n; ++shift) {
                const std::uint32_t to = (rank() + shift) % n, from = (rank() + n - shift) % n;
                exchange(mesh_.to(to, Purpose::collective), job.send + to * part, part,
                         mesh_.to(from, Purpose::collective), job.receive + from * part, part, timeout_);
            }
            return;
        case CollectiveKind::send_recv:
            if (n == 1) return copy_unless_same(job.receive, job.send, job.bytes);
            return exchange(*ring.next, job.send, job.bytes, *ring.previous, job.receive, job.bytes, timeout_);
    }
}

void TcpCommunicator::run(CollectiveKind kind, const void* send, void* receive, std::uint64_t bytes, Dtype dtype,
                          Stream stream, Reduction reduction) {
    if (reduces(kind) && !cpu_ranks_sum(dtype))
        throw Error(fmt::format("CPU ranks cannot sum {}", name(dtype)), "they reduce fp32, bf16 and fp16");
    const std::uint64_t elements = bytes / size_of(dtype);
    if (bytes % size_of(dtype) != 0 || (shared_out(kind) && elements % ranks() != 0))
        throw Error(fmt::format("{} of {} bytes among {} ranks", name(kind), bytes, ranks()),
                    fmt::format("give a multiple of {} bytes", size_of(dtype) * (shared_out(kind) ? ranks() : 1)));
    if (stream_.value_or(stream) != stream)
        throw Error("collectives of one TCP communicator on two streams", "split it: a communicator for each stream");
    stream_ = stream;
    const Job job{kind, static_cast<const std::byte*>(send), static_cast<std::byte*>(receive), bytes, dtype, reduction};
    device_.run([this, job] { perform(job); }, stream);
}

void TcpCommunicator::send(const void* memory, std::uint64_t bytes, std::uint32_t to, Stream stream) {
    const Socket& socket = mesh_.to(to, to > rank() ? Purpose::upwards : Purpose::downwards);
    device_.run(
        [this, &socket, memory, bytes] {
            const Clock::time_point deadline = Clock::now() + timeout_;
            std::byte there{};
            tcp::receive(socket, &there, 1, deadline);
            tcp::send(socket, memory, bytes, deadline);
        },
        stream);
}

void TcpCommunicator::receive(void* memory, std::uint64_t bytes, std::uint32_t from, Stream stream) {
    const Socket& socket = mesh_.to(from, rank() > from ? Purpose::upwards : Purpose::downwards);
    device_.run(
        [this, &socket, memory, bytes] {
            const Clock::time_point deadline = Clock::now() + timeout_;
            const std::byte here{1};
            tcp::send(socket, &here, 1, deadline);
            tcp::receive(socket, memory, bytes, deadline);
        },
        stream);
}

std::unique_ptr<Communicator> TcpCommunicator::split(std::uint32_t color) {
    return std::make_unique<TcpCommunicator>(device_, part_of(*group_, color), address_, secret_, timeout_seconds_);
}

double TcpCommunicator::maximum(double value) {
    for (const std::string& text : group_->all_gather(fmt::format("{}", value)))
        value = std::max(value, std::stod(text));
    return value;
}

std::string TcpCommunicator::from_first(const std::string& text) {
    return group_->all_gather(rank() == 0 ? text : "").front();
}

void TcpCommunicator::abort(const std::string& why) noexcept {
    if (!why.empty()) std::fprintf(stderr, "%s\n", why.c_str());
    std::fflush(nullptr);
    std::_Exit(3);
}

}  // namespace tcp

std::unique_ptr<Communicator> tcp_world(Device& device, const Processes& processes, double timeout_seconds) {
    const std::string address = tcp::address_towards(processes.address, processes.port);
    return std::make_unique<tcp::TcpCommunicator>(device, connect_by_tcp(processes, timeout_seconds), address,
                                                  processes.secret, timeout_seconds);
}

}  // namespace orrery::kernels
