#include "kernels/cuda/nccl_communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.hpp"
#include "base/host_name.hpp"
#include "kernels/cuda/check.hpp"
#include "kernels/cuda/cuda_graph.hpp"

namespace orrery::kernels::cuda {

namespace {

constexpr std::chrono::milliseconds glance{200};  // how often the watchdog looks
constexpr std::chrono::microseconds pause{20};    // between two questions to NCCL

ncclDataType_t type_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::fp32:
        case Dtype::tf32: return ncclFloat32;
        case Dtype::fp16: return ncclFloat16;
        case Dtype::bf16: return ncclBfloat16;
        case Dtype::fp8: return ncclFloat8e4m3;
        case Dtype::fp4: return ncclUint8;
    }
    return ncclFloat32;
}

std::string text_of(double value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

double value_of(const std::string& bytes) {
    double value = 0;
    if (bytes.size() != sizeof value) throw DeviceError("ranks disagree on what they exchange", "");
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

}  // namespace

NcclCommunicator::NcclCommunicator(CudaDevice& device, std::unique_ptr<HostGroup> group, double timeout_seconds)
    : device_(device),
      group_(std::move(group)),
      timeout_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_seconds))) {
    const auto hosts = group_->all_gather(host_name());
    nodes_ = static_cast<std::uint32_t>(std::set<std::string>(hosts.begin(), hosts.end()).size());
    device_.use();  // NCCL binds the communicator to the GPU in use
    check(cudaEventCreateWithFlags(&latest_, cudaEventDisableTiming), "creating an event");
    try {
        connect();
    } catch (...) {
        if (communicator_ != nullptr) ncclCommAbort(communicator_);
        cudaEventDestroy(latest_);
        throw;
    }
    watchdog_ = std::thread([this] { watch(); });
}

NcclCommunicator::~NcclCommunicator() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    ended_.notify_all();
    watchdog_.join();
    if (failure_.empty()) {
        // Non-blocking: finalize is waited for here, at most for the timeout; what is stuck then is aborted.
        const Clock::time_point deadline = Clock::now() + timeout_;
        ncclResult_t state = ncclCommFinalize(communicator_);
        while (state == ncclInProgress && Clock::now() < deadline) {
            std::this_thread::sleep_for(pause);
            if (ncclCommGetAsyncError(communicator_, &state) != ncclSuccess) break;
        }
        state == ncclSuccess ? ncclCommDestroy(communicator_) : ncclCommAbort(communicator_);
    }
    cudaEventDestroy(latest_);
}

void NcclCommunicator::connect() {
    ncclUniqueId id{};
    std::string text(sizeof id, '\0');
    if (rank() == 0) {
        settle(ncclGetUniqueId(&id), "asking NCCL for an identity");
        std::memcpy(text.data(), &id, sizeof id);
    }
    text = from_first(text);
    if (text.size() != sizeof id) throw DeviceError("rank 0 has another NCCL", "install the same version on all hosts");
    std::memcpy(&id, text.data(), sizeof id);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    settle(ncclCommInitRankConfig(&communicator_, static_cast<int>(ranks()), id, static_cast<int>(rank()), &config),
           "joining the NCCL communicator");
}

std::string NcclCommunicator::software() const {
    int version = 0;
    ncclGetVersion(&version);  // major * 10000 + minor * 100 + patch
    return fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

void NcclCommunicator::settle(ncclResult_t result, std::string_view doing) {
    const Clock::time_point deadline = Clock::now() + timeout_;
    while (result == ncclInProgress && communicator_ != nullptr) {
        if (Clock::now() > deadline)
            throw DeviceError(
                fmt::format("{}: no answer in {:.0f} s", doing, std::chrono::duration<double>(timeout_).count()),
                "another rank is missing or the network is stuck; NCCL_DEBUG=INFO tells more");
        std::this_thread::sleep_for(pause);
        const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &result);
        if (asked != ncclSuccess) result = asked;
    }
    if (result == ncclSuccess) return;
    throw DeviceError(fmt::format("{}: {}: {}", doing, ncclGetErrorString(result), ncclGetLastError(communicator_)),
                      "NCCL_DEBUG=INFO tells more");
}

void NcclCommunicator::throw_if_failed() const {
    if (!failure_.empty()) throw DeviceError(failure_, "another rank is lost; NCCL_DEBUG=INFO tells more");
}

ncclResult_t NcclCommunicator::queue(CollectiveKind kind, const void* send, void* receive, std::uint64_t bytes,
                                     Dtype dtype, ncclRedOp_t reduction, cudaStream_t stream) {
    const ncclDataType_t type = type_of(dtype);
    const std::uint64_t count = bytes / size_of(dtype), share = bytes / ranks();
    const int n = static_cast<int>(ranks()), own = static_cast<int>(rank());
    const auto* const from = static_cast<const char*>(send);
    auto* const to = static_cast<char*>(receive);
    switch (kind) {
        case CollectiveKind::all_reduce:
            return ncclAllReduce(send, receive, count, type, reduction, communicator_, stream);
        case CollectiveKind::all_gather:
            return ncclAllGather(send, receive, count / ranks(), type, communicator_, stream);
        case CollectiveKind::reduce_scatter:
            return ncclReduceScatter(send, receive, count / ranks(), type, reduction, communicator_, stream);
        case CollectiveKind::broadcast: return ncclBroadcast(send, receive, count, type, 0, communicator_, stream);
        case CollectiveKind::all_to_all:
            ncclGroupStart();
            for (int peer = 0; peer < n; ++peer) {
                const std::uint64_t offset = static_cast<std::uint64_t>(peer) * share;
                ncclSend(from + offset, share, ncclChar, peer, communicator_, stream);
                ncclRecv(to + offset, share, ncclChar, peer, communicator_, stream);
            }
            return ncclGroupEnd();
        case CollectiveKind::send_recv:
            ncclGroupStart();
            ncclSend(from, bytes, ncclChar, (own + 1) % n, communicator_, stream);
            ncclRecv(to, bytes, ncclChar, (own + n - 1) % n, communicator_, stream);
            return ncclGroupEnd();
    }
    return ncclInvalidArgument;
}

template <class Ask>
void NcclCommunicator::ask(Stream stream, const std::string& doing, const Ask& ask) {
    // Held while NCCL is asked: the watchdog may not abort meanwhile, and settle() has a timeout of its own.
    const std::lock_guard lock(mutex_);
    throw_if_failed();
    const cudaStream_t cuda_stream = device_.stream(stream);
    settle(ask(cuda_stream), doing);
    if (CudaGraph* const graph = device_.recording())
        graph->at_launch(this, [this](Stream launched_on) {
            const std::lock_guard again(mutex_);
            throw_if_failed();
            watch_until(device_.stream(launched_on));
        });
    else
        watch_until(cuda_stream);
}

void NcclCommunicator::watch_until(cudaStream_t stream) {
    check(cudaEventRecord(latest_, stream), "recording an event");
    queued_at_ = Clock::now();
    queued_ = true;
}

void NcclCommunicator::run(CollectiveKind kind, const void* send, void* receive, std::uint64_t bytes, Dtype dtype,
                           Stream stream, Reduction reduction) {
    const bool shared = kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter ||
                        kind == CollectiveKind::all_to_all;
    const std::uint64_t unit = std::uint64_t{size_of(dtype)} * (shared ? ranks() : 1);
    if (bytes % unit != 0)
        throw Error(fmt::format("{} of {} bytes over {} ranks in {}", name(kind), bytes, ranks(), name(dtype)),
                    fmt::format("give a multiple of {} bytes", unit));
    ask(stream, fmt::format("queueing {}", name(kind)), [&](cudaStream_t on) {
        return queue(kind, send, receive, bytes, dtype, reduction == Reduction::sum ? ncclSum : ncclMax, on);
    });
}

void NcclCommunicator::send(const void* memory, std::uint64_t bytes, std::uint32_t to, Stream stream) {
    ask(stream, "queueing a send",
        [&](cudaStream_t on) { return ncclSend(memory, bytes, ncclChar, static_cast<int>(to), communicator_, on); });
}

void NcclCommunicator::receive(void* memory, std::uint64_t bytes, std::uint32_t from, Stream stream) {
    ask(stream, "queueing a receive",
        [&](cudaStream_t on) { return ncclRecv(memory, bytes, ncclChar, static_cast<int>(from), communicator_, on); });
}

std::unique_ptr<Communicator> NcclCommunicator::split(std::uint32_t color) {
    return std::make_unique<NcclCommunicator>(device_, part_of(*group_, color),
                                              std::chrono::duration<double>(timeout_).count());
}

void NcclCommunicator::give_up(const std::string& why) {
    failure_ = why;
    ncclCommAbort(communicator_);
}

void NcclCommunicator::abort(const std::string& why) noexcept {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) give_up(why);
}

void NcclCommunicator::watch() {
    device_.use();
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, glance, [this] { return ending_; })) {
        if (!failure_.empty()) return;
        ncclResult_t state = ncclSuccess;
        if (ncclCommGetAsyncError(communicator_, &state) != ncclSuccess ||
            (state != ncclSuccess && state != ncclInProgress)) {
            give_up(fmt::format("a collective failed: {}", ncclGetErrorString(state)));
            return;
        }
        if (queued_ && cudaEventQuery(latest_) != cudaErrorNotReady) queued_ = false;
        if (queued_ && Clock::now() - queued_at_ > timeout_) {
            give_up(
                fmt::format("a collective did not end in {:.0f} s", std::chrono::duration<double>(timeout_).count()));
            return;
        }
    }
}

void NcclCommunicator::barrier() {
    {
        const std::lock_guard lock(mutex_);
        throw_if_failed();
    }
    group_->all_gather("");
}

double NcclCommunicator::maximum(double value) {
    double largest = value;
    for (const std::string& bytes : group_->all_gather(text_of(value))) largest = std::max(largest, value_of(bytes));
    return largest;
}

std::vector<std::string> NcclCommunicator::texts(const std::string& text) { return group_->all_gather(text); }

std::string NcclCommunicator::from_first(const std::string& text) { return group_->all_gather(text)[0]; }

}  // namespace orrery::kernels::cuda
