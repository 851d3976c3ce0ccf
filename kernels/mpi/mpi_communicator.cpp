#include "kernels/mpi/mpi_communicator.hpp"

#include <fmt/format.h>

#include <array>
#include <exception>
#include <limits>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "kernels/backends.hpp"

namespace orrery::kernels {

namespace {

void check(int status, std::string_view what) {
    if (status == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(status, text.data(), &length);
    throw DeviceError(fmt::format("MPI: {}: {}", what, text.data()), "see whether another rank ended");
}

MPI_Comm duplicate() {
    MPI_Comm copy = MPI_COMM_NULL;
    check(MPI_Comm_dup(MPI_COMM_WORLD, &copy), "duplicating the communicator");
    check(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "setting its error handler");
    return copy;
}

std::uint32_t count_nodes(MPI_Comm all, std::uint32_t ranks) {
    std::array<char, MPI_MAX_PROCESSOR_NAME> own{};
    int length = 0;
    check(MPI_Get_processor_name(own.data(), &length), "reading the host's name");
    std::vector<char> names(ranks * own.size());
    const int size = static_cast<int>(own.size());
    check(MPI_Allgather(own.data(), size, MPI_CHAR, names.data(), size, MPI_CHAR, all), "gathering hosts' names");
    std::set<std::string> distinct;
    for (std::uint32_t r = 0; r < ranks; ++r) distinct.emplace(names.data() + r * own.size());
    return static_cast<std::uint32_t>(distinct.size());
}

/// What one collective moves, in elements of an MPI type.
struct Transfer {
    CollectiveKind kind;
    const void* send;
    void* receive;
    int whole, part;  ///< elements of the whole vector and of one rank's share of it
    MPI_Datatype type;
    int rank, ranks;
};

int perform(const Transfer& t, MPI_Comm group) {
    switch (t.kind) {
        case CollectiveKind::all_reduce: return MPI_Allreduce(t.send, t.receive, t.whole, t.type, MPI_SUM, group);
        case CollectiveKind::all_gather: return MPI_Allgather(t.send, t.part, t.type, t.receive, t.part, t.type, group);
        case CollectiveKind::reduce_scatter:
            return MPI_Reduce_scatter_block(t.send, t.receive, t.part, t.type, MPI_SUM, group);
        case CollectiveKind::all_to_all: return MPI_Alltoall(t.send, t.part, t.type, t.receive, t.part, t.type, group);
        case CollectiveKind::broadcast: {
            // MPI's has one buffer: the root sends from `send` and passes it to its own `receive` as NCCL's does.
            if (t.rank == 0) {
                const int copied = MPI_Sendrecv(t.send, t.whole, t.type, 0, 0, t.receive, t.whole, t.type, 0, 0,
                                                MPI_COMM_SELF, MPI_STATUS_IGNORE);
                if (copied != MPI_SUCCESS) return copied;
            }
            return MPI_Bcast(t.receive, t.whole, t.type, 0, group);
        }
        case CollectiveKind::send_recv:
            return MPI_Sendrecv(t.send, t.whole, t.type, (t.rank + 1) % t.ranks, 0, t.receive, t.whole, t.type,
                                (t.rank + t.ranks - 1) % t.ranks, 0, group, MPI_STATUS_IGNORE);
    }
    return MPI_ERR_ARG;
}

bool shared_out(CollectiveKind kind) {
    return kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter ||
           kind == CollectiveKind::all_to_all;
}

Transfer plan(CollectiveKind kind, const void* send, void* receive, std::uint64_t bytes, Dtype dtype,
              std::uint32_t rank, std::uint32_t ranks) {
    const bool sums = kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
    if (sums && dtype != Dtype::fp32)
        throw Error(fmt::format("MPI cannot sum {}", name(dtype)), "CPU ranks reduce fp32 alone");
    const std::uint64_t size = size_of(dtype), elements = bytes / size;
    if (bytes % size != 0 || (shared_out(kind) && elements % ranks != 0))
        throw Error(fmt::format("{} of {} bytes among {} ranks", name(kind), bytes, ranks),
                    fmt::format("give a multiple of {} bytes", shared_out(kind) ? size * ranks : size));
    if (elements * (sums ? 1 : size) > std::numeric_limits<int>::max())
        throw Error(fmt::format("{} of {} bytes is more than one MPI call takes", name(kind), bytes),
                    "at most 2^31 - 1 elements");
    const auto whole = static_cast<int>(sums ? elements : bytes);
    return {kind,
            send,
            receive,
            whole,
            whole / static_cast<int>(ranks),
            sums ? MPI_FLOAT : MPI_BYTE,
            static_cast<int>(rank),
            static_cast<int>(ranks)};
}

}  // namespace

MpiCommunicator::MpiCommunicator(Device& device) : device_(device), exceptions_(std::uncaught_exceptions()) {
    int before = 0, provided = 0, rank = 0, ranks = 1;
    MPI_Initialized(&before);
    if (before != 0)
        throw Error("MPI was started before in this process", "hold one communicator for as long as it is needed");
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "starting");
    concurrent_ = provided == MPI_THREAD_MULTIPLE;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    rank_ = static_cast<std::uint32_t>(rank);
    ranks_ = static_cast<std::uint32_t>(ranks);
    control_ = duplicate();
    nodes_ = count_nodes(control_, ranks_);
}

MpiCommunicator::~MpiCommunicator() {
    if (std::uncaught_exceptions() > exceptions_) return;  // finalising would wait for the others
    try {
        device_.synchronize();
    } catch (...) {
        return;
    }
    for (auto& [stream, group] : streams_) MPI_Comm_free(&group);
    MPI_Comm_free(&control_);
    MPI_Finalize();
}

std::string MpiCommunicator::software() const {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    check(MPI_Get_library_version(text.data(), &length), "reading the version");
    std::string version(text.data());
    version.resize(std::min(version.find_first_of(",\n"), version.size()));  // Open MPI adds its packager
    if (const std::size_t v = version.find(" v"); v != version.npos) version.erase(v + 1, 1);
    return version;
}

MPI_Comm MpiCommunicator::of(Stream stream) {
    if (stream != 0 && !concurrent_)
        throw Error("this MPI takes calls from one thread alone", "use stream 0, or an MPI with MPI_THREAD_MULTIPLE");
    const auto [place, is_new] = streams_.try_emplace(stream, MPI_COMM_NULL);
    if (is_new) place->second = duplicate();
    return place->second;
}

void MpiCommunicator::run(CollectiveKind kind, const void* send, void* receive, std::uint64_t bytes, Dtype dtype,
                          Stream stream) {
    const Transfer transfer = plan(kind, send, receive, bytes, dtype, rank_, ranks_);
    device_.run([transfer, group = of(stream)] { check(perform(transfer, group), name(transfer.kind)); }, stream);
}

void MpiCommunicator::barrier() { check(MPI_Barrier(control_), "barrier"); }

double MpiCommunicator::maximum(double value) {
    double largest = value;
    check(MPI_Allreduce(&value, &largest, 1, MPI_DOUBLE, MPI_MAX, control_), "maximum");
    return largest;
}

std::string MpiCommunicator::from_first(const std::string& text) {
    std::uint64_t length = text.size();
    check(MPI_Bcast(&length, 1, MPI_UINT64_T, 0, control_), "sending a text's length");
    if (length > std::numeric_limits<int>::max()) throw Error("a text of rank 0 is longer than 2 GB", "send less");
    std::string received = text;
    received.resize(length);
    check(MPI_Bcast(received.data(), static_cast<int>(length), MPI_CHAR, 0, control_), "sending a text");
    return received;
}

std::unique_ptr<Communicator> mpi_world(Device& device) { return std::make_unique<MpiCommunicator>(device); }

}  // namespace orrery::kernels
