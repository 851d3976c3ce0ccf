#include "kernels/cpu/cpu_device.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <future>
#include <stdexcept>

#include "base/error.hpp"
#include "base/overloaded.hpp"
#include "kernels/backends.hpp"
#include "kernels/cpu/attention.hpp"
#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/cpu/image.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cpu {

namespace {

constexpr std::uint64_t alignment = 256;

void run_kernel(const Kernel& kernel, const Memory& memory, std::uint32_t threads) {
    const ThreadCount count(static_cast<int>(threads));
    std::visit(
        Overloaded{[&](const Gemm& g) { run_gemm(g, memory); }, [&](const Attention& a) { run_attention(a, memory); },
                   [&](const Pointwise& p) { run_pointwise(p, memory); },
                   [&](const Convolution& c) { run_convolution(c, memory); },
                   [&](const Pooling& p) { run_pooling(p, memory); },
                   [&](const BatchNorm& b) { run_batch_norm(b, memory); },
                   [](const StateSpace&) { throw std::logic_error("scans are priced, not executed"); }},
        kernel);
}

/// From two huge pages on the memory is made of such: a calibration fills twice the last cache anew for each shape, and
/// on a server, whose cache holds 300 MB, the system's small pages, cleared one by one, took most of its time.
void* aligned(std::uint64_t bytes) {
    constexpr std::uint64_t huge_page = std::uint64_t{2} << 20U;
    if (bytes < 2 * huge_page) return std::aligned_alloc(alignment, bytes);
    void* const memory = std::aligned_alloc(huge_page, bytes);
    if (memory != nullptr) (void)madvise(memory, bytes / huge_page * huge_page, MADV_HUGEPAGE);
    return memory;
}

}  // namespace

CpuDevice::CpuDevice(std::uint32_t threads)
    : facts_{.kind = "cpu",
             .name = processor_name(),
             .software = gemm_software(),
             .memory_bytes = memory_bytes(),
             .cache_bytes = last_cache_bytes(),
             .multiprocessors = threads} {}

CpuDevice::~CpuDevice() = default;

bool CpuDevice::supports(const Kernel& kernel) const {
    const Dtype dtype = dtype_of(kernel);
    if (dtype != Dtype::fp32 && !is_half(dtype)) return false;
    try {
        return !operands(kernel).empty();
    } catch (const Error&) {
        return false;
    }
}

void* CpuDevice::allocate(std::uint64_t bytes) {
    const std::uint64_t rounded = (std::max<std::uint64_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    // Asked first: the system would promise more memory than there is, and end the process when it is touched.
    void* const memory = rounded <= available_bytes() ? aligned(rounded) : nullptr;
    if (memory == nullptr)
        throw DeviceError(fmt::format("cannot allocate {} bytes, {} are available", bytes, available_bytes()),
                          "take a smaller shape");
    return memory;
}

void CpuDevice::release(void* memory) noexcept { std::free(memory); }

Worker& CpuDevice::worker(Stream stream) {
    if (stream >= most_streams)
        throw Error(fmt::format("stream {} of the CPU device", stream), fmt::format("it has {}", most_streams));
    auto& worker = workers_[stream];
    if (!worker) worker = std::make_unique<Worker>();
    return *worker;
}

void CpuDevice::run(std::function<void()> work, Stream stream) {
    if (is_callers(stream)) return work();
    worker(stream).queue(std::move(work));
}

void CpuDevice::launch(const Kernel& kernel, std::span<void* const> operands, Stream stream, const Settings& settings) {
    if (!supports(kernel))
        throw Error(fmt::format("the CPU device cannot run {}", to_text(kernel)), "it runs fp32, bf16 and fp16");
    if (settings.narrow != Narrow{})
        throw Error(fmt::format("the CPU device cannot run {} for fp8", to_text(kernel)), "a GPU does");
    if (settings.result.value_or(Dtype::fp32) != Dtype::fp32 && settings.result != dtype_of(kernel))
        throw Error(fmt::format("{} cannot write {}", to_text(kernel), name(*settings.result)),
                    "fp32, or its own format");
    if (const std::size_t count = kernels::operands(kernel, settings).size(); operands.size() != count)
        throw Error(fmt::format("{} was given {} operands", to_text(kernel), operands.size()),
                    fmt::format("it has {}", count));
    if (is_callers(stream)) return run_kernel(kernel, Memory(operands, settings), facts_.multiprocessors);
    worker(stream).queue([kernel, given = std::vector<void*>(operands.begin(), operands.end()), settings,
                          threads = facts_.multiprocessors] { run_kernel(kernel, Memory(given, settings), threads); });
}

void CpuDevice::copy(CopyKind, void* to, const void* from, std::uint64_t bytes, Stream stream) {
    run([to, from, bytes] { std::memcpy(to, from, bytes); }, stream);
}

void CpuDevice::copy_rows(void* to, std::uint64_t to_stride, const void* from, std::uint64_t from_stride,
                          std::uint64_t bytes, std::uint64_t rows, Stream stream) {
    run(
        [=] {
            auto* const out = static_cast<std::byte*>(to);
            const auto* const in = static_cast<const std::byte*>(from);
            for (std::uint64_t row = 0; row < rows; ++row)
                std::memcpy(out + row * to_stride, in + row * from_stride, bytes);
        },
        stream);
}

void CpuDevice::wait(Stream waiting, Stream on) {
    if (on == waiting || on == 0) return;  // what stream 0 was given has ended
    if (is_callers(waiting)) return worker(on).finish();
    auto reached = std::make_shared<std::promise<void>>();
    worker(on).queue([reached] { reached->set_value(); });
    worker(waiting).queue([reached] { reached->get_future().wait(); });
}

void CpuDevice::synchronize() {
    for (const auto& worker : workers_)
        if (worker) worker->finish();
}

void CpuDevice::reach(Mark mark) {
    const Moment now = facts_.multiprocessors == 1 ? thread_moment() : wall_moment();
    const double wall = wall_seconds();
    const std::lock_guard lock(mutex_);
    moments_[mark] = {now, wall};
    reached_.notify_all();
}

Device::Mark CpuDevice::mark(Stream stream) {
    const Mark mark = next_mark_++;
    if (is_callers(stream))
        reach(mark);
    else
        worker(stream).queue([this, mark] { reach(mark); });
    return mark;
}

const CpuDevice::Reached& CpuDevice::found(Mark mark) const {
    const auto place = moments_.find(mark);
    if (place == moments_.end())
        throw DeviceError("a mark of the CPU device was never set, not reached or forgotten",
                          "marks are read after synchronize(), before forget()");
    return place->second;
}

double CpuDevice::seconds(Mark from, Mark to) {
    const std::lock_guard lock(mutex_);
    const Moment &begin = found(from).moment, &end = found(to).moment;
    disturbances_ = end.switches - begin.switches;
    return end.seconds - begin.seconds;
}

void CpuDevice::finish(Mark mark) {
    std::unique_lock lock(mutex_);
    reached_.wait(lock, [&] { return moments_.contains(mark); });
}

void CpuDevice::wait_for(Stream waiting, Mark mark) {
    run([this, mark] { finish(mark); }, waiting);
}

double CpuDevice::moment(Mark mark) {
    const std::lock_guard lock(mutex_);
    return found(mark).wall;
}

void CpuDevice::forget(std::span<const Mark> marks) {
    const std::lock_guard lock(mutex_);
    for (const Mark mark : marks) moments_.erase(mark);
}

}  // namespace orrery::kernels::cpu

namespace orrery::kernels {

namespace {

std::unique_ptr<Device> open_cpu(std::string_view detail) {
    std::uint32_t threads = 1;
    if (!detail.empty()) {
        const auto [end, failure] = std::from_chars(detail.data(), detail.data() + detail.size(), threads);
        if (failure != std::errc() || end != detail.data() + detail.size() || threads == 0)
            throw Error(fmt::format("\"{}\" is no number of threads", detail), "such as cpu:4");
    }
    if (threads > cpu::processors())
        throw Error(fmt::format("device \"cpu:{}\" needs more threads than processors", threads),
                    fmt::format("this process may use {}", cpu::processors()));
    return std::make_unique<cpu::CpuDevice>(threads);
}

}  // namespace

Backend cpu_backend() { return {"cpu", true, "", open_cpu}; }

}  // namespace orrery::kernels
