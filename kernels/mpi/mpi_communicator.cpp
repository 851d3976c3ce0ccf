#include "kernels/mpi/mpi_communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "kernels/backends.hpp"
#include "kernels/bfloat16.hpp"
#include "kernels/float16.hpp"

namespace orrery::kernels {

namespace {

void check(int status, std::string_view what) {
    if (status == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(status, text.data(), &length);
    throw DeviceError(fmt::format("MPI: {}: {}", what, text.data()), "see whether another rank ended");
}

/// Errors in it are returned, and not fatal.
MPI_Comm checked(MPI_Comm group) {
    check(MPI_Comm_set_errhandler(group, MPI_ERRORS_RETURN), "setting an error handler");
    return group;
}

MPI_Comm duplicate(MPI_Comm group) {
    MPI_Comm copy = MPI_COMM_NULL;
    check(MPI_Comm_dup(group, &copy), "duplicating a communicator");
    return checked(copy);
}

/// Waits for a message. Sleeping would be late by tens of microseconds, and MPI_Wait keeps the core to itself unless
/// the launcher said otherwise.
void await(MPI_Request request, std::string_view what) {
    while (true) {
        int done = 0;
        check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), what);
        if (done != 0) return;
        std::this_thread::yield();
    }
}

/// Bytes as a number of elements that MPI takes.
int count_of(std::uint64_t bytes) {
    if (bytes > std::numeric_limits<int>::max())
        throw Error(fmt::format("a message of {} bytes is more than one MPI call takes", bytes), "at most 2^31 - 1");
    return static_cast<int>(bytes);
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

/// Combines elements of 16 bits, which MPI knows as numbers: each sum is rounded, as NCCL's are.
template <class Half, Reduction reduction>
void combine_half(void* from, void* into, int* count, MPI_Datatype*) {
    const auto* const one = static_cast<const Half*>(from);
    auto* const two = static_cast<Half*>(into);
    for (int i = 0; i < *count; ++i) {
        const float a = to_float(one[i]), b = to_float(two[i]);
        two[i] = from_float<Half>(reduction == Reduction::sum ? a + b : std::max(a, b));
    }
}

MPI_Op made(MPI_User_function* function) {
    MPI_Op operation = MPI_OP_NULL;
    check(MPI_Op_create(function, 1, &operation), "making a reduction of 16 bits");
    return operation;
}

/// They last as long as the process.
template <class Half>
MPI_Op half_operation(Reduction reduction) {
    static const MPI_Op sum = made(combine_half<Half, Reduction::sum>),
                        largest = made(combine_half<Half, Reduction::maximum>);
    return reduction == Reduction::sum ? sum : largest;
}

MPI_Op operation_of(Dtype dtype, Reduction reduction) {
    if (dtype == Dtype::fp32) return reduction == Reduction::sum ? MPI_SUM : MPI_MAX;
    return dtype == Dtype::fp16 ? half_operation<Float16>(reduction) : half_operation<Bfloat16>(reduction);
}

/// What one collective moves, in elements of an MPI type.
struct Transfer {
    CollectiveKind kind;
    const void* send;
    void* receive;
    int whole, part;  ///< elements of the whole vector and of one rank's share of it
    MPI_Datatype type;
    int rank, ranks;
    MPI_Op reduction;
};

/// reduce_scatter into the rank's own part of `send`: MPI's in-place form would leave it in the first part.
int scatter_in_place(const Transfer& t, MPI_Comm group) {
    int size = 1;
    MPI_Type_size(t.type, &size);
    std::vector<std::byte> part(static_cast<std::size_t>(t.part) * static_cast<std::size_t>(size));
    const int status = MPI_Reduce_scatter_block(t.send, part.data(), t.part, t.type, t.reduction, group);
    std::memcpy(t.receive, part.data(), part.size());
    return status;
}

/// Whether `receive` (or `send`) is a rank's part of the other.
bool inside(const void* part, const void* whole, const Transfer& t) {
    int size = 1;
    MPI_Type_size(t.type, &size);
    return part == static_cast<const char*>(whole) + std::int64_t{t.rank} * t.part * size;
}

int perform(const Transfer& t, MPI_Comm group) {
    switch (t.kind) {
        case CollectiveKind::all_reduce:
            return MPI_Allreduce(t.send == t.receive ? MPI_IN_PLACE : t.send, t.receive, t.whole, t.type, t.reduction,
                                 group);
        case CollectiveKind::all_gather:
            return MPI_Allgather(inside(t.send, t.receive, t) ? MPI_IN_PLACE : t.send, t.part, t.type, t.receive,
                                 t.part, t.type, group);
        case CollectiveKind::reduce_scatter:
            if (inside(t.receive, t.send, t)) return scatter_in_place(t, group);
            return MPI_Reduce_scatter_block(t.send, t.receive, t.part, t.type, t.reduction, group);
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
              std::uint32_t rank, std::uint32_t ranks, Reduction reduction) {
    const bool sums = kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
    if (sums && !cpu_ranks_sum(dtype))
        throw Error(fmt::format("CPU ranks cannot sum {}", name(dtype)), "they reduce fp32, bf16 and fp16");
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
            !sums                  ? MPI_BYTE
            : dtype == Dtype::fp32 ? MPI_FLOAT
                                   : MPI_UINT16_T,
            static_cast<int>(rank),
            static_cast<int>(ranks),
            sums ? operation_of(dtype, reduction) : MPI_OP_NULL};
}

}  // namespace

MpiSession::MpiSession() : exceptions_(std::uncaught_exceptions()) {
    int before = 0, provided = 0;
    MPI_Initialized(&before);
    if (before != 0)
        throw Error("MPI was started before in this process", "hold one communicator for as long as it is needed");
    // Who waits gives way, whoever started the ranks: the streams of a rank share its cores. Open MPI reads it here.
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "starting");
    concurrent_ = provided == MPI_THREAD_MULTIPLE;
}

MpiSession::~MpiSession() {
    if (std::uncaught_exceptions() == exceptions_) MPI_Finalize();  // which otherwise would wait for the others
}

MpiCommunicator::MpiCommunicator(Device& device, std::shared_ptr<MpiSession> session, MPI_Comm parent,
                                 std::uint32_t color)
    : device_(device), session_(std::move(session)), exceptions_(std::uncaught_exceptions()) {
    int rank = 0, ranks = 1;
    check(MPI_Comm_split(parent, static_cast<int>(color), 0, &control_), "splitting a communicator");
    checked(control_);
    MPI_Comm_rank(control_, &rank);
    MPI_Comm_size(control_, &ranks);
    rank_ = static_cast<std::uint32_t>(rank);
    ranks_ = static_cast<std::uint32_t>(ranks);
    messages_ = duplicate(control_);
    nodes_ = count_nodes(control_, ranks_);
}

MpiCommunicator::~MpiCommunicator() {
    if (std::uncaught_exceptions() > exceptions_) return;  // freeing would wait for the others
    try {
        device_.synchronize();
    } catch (...) {
        return;
    }
    for (auto& [stream, group] : streams_) MPI_Comm_free(&group);
    MPI_Comm_free(&messages_);
    MPI_Comm_free(&control_);
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

void MpiCommunicator::require_thread(Stream stream) const {
    if (stream != 0 && !session_->concurrent())
        throw Error("this MPI takes calls from one thread alone", "use stream 0, or an MPI with MPI_THREAD_MULTIPLE");
}

MPI_Comm MpiCommunicator::of(Stream stream) {
    require_thread(stream);
    const auto [place, is_new] = streams_.try_emplace(stream, MPI_COMM_NULL);
    if (is_new) place->second = duplicate(control_);
    return place->second;
}

void MpiCommunicator::run(CollectiveKind kind, const void* send, void* receive, std::uint64_t bytes, Dtype dtype,
                          Stream stream, Reduction reduction) {
    const Transfer transfer = plan(kind, send, receive, bytes, dtype, rank_, ranks_, reduction);
    device_.run([transfer, group = of(stream)] { check(perform(transfer, group), name(transfer.kind)); }, stream);
}

void MpiCommunicator::send(const void* memory, std::uint64_t bytes, std::uint32_t to, Stream stream) {
    require_thread(stream);
    device_.run(
        [memory, count = count_of(bytes), to = static_cast<int>(to), group = messages_] {
            MPI_Request request = MPI_REQUEST_NULL;
            check(MPI_Isend(memory, count, MPI_BYTE, to, 0, group, &request), "sending");
            await(request, "sending");
        },
        stream);
}

void MpiCommunicator::receive(void* memory, std::uint64_t bytes, std::uint32_t from, Stream stream) {
    require_thread(stream);
    device_.run(
        [memory, count = count_of(bytes), from = static_cast<int>(from), group = messages_] {
            MPI_Request request = MPI_REQUEST_NULL;
            check(MPI_Irecv(memory, count, MPI_BYTE, from, 0, group, &request), "receiving");
            await(request, "receiving");
        },
        stream);
}

std::unique_ptr<Communicator> MpiCommunicator::split(std::uint32_t color) {
    return std::make_unique<MpiCommunicator>(device_, session_, control_, color);
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

std::vector<std::string> MpiCommunicator::texts(const std::string& text) {
    int own = count_of(text.size());
    std::vector<int> counts(ranks_), offsets(ranks_);
    check(MPI_Allgather(&own, 1, MPI_INT, counts.data(), 1, MPI_INT, control_), "gathering texts' lengths");
    std::uint64_t all = 0;
    for (std::uint32_t r = 0; r < ranks_; ++r) {
        offsets[r] = static_cast<int>(all);
        all += static_cast<std::uint64_t>(counts[r]);
    }
    std::string joined(static_cast<std::size_t>(count_of(all)), '\0');
    check(MPI_Allgatherv(text.data(), own, MPI_CHAR, joined.data(), counts.data(), offsets.data(), MPI_CHAR, control_),
          "gathering texts");
    std::vector<std::string> each;
    for (std::uint32_t r = 0; r < ranks_; ++r)
        each.push_back(joined.substr(static_cast<std::size_t>(offsets[r]), static_cast<std::size_t>(counts[r])));
    return each;
}

void MpiCommunicator::abort(const std::string& why) noexcept {
    if (!why.empty()) std::fprintf(stderr, "%s\n", why.c_str());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

std::unique_ptr<Communicator> mpi_world(Device& device) {
    auto session = std::make_shared<MpiSession>();
    return std::make_unique<MpiCommunicator>(device, std::move(session), MPI_COMM_WORLD, 0);
}

}  // namespace orrery::kernels
