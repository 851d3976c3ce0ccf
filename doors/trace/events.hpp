// What a trace of a training says, as far as times, layers and shapes are concerned: as torch.profiler writes it
// (Kineto's Chrome trace); doors/nsys fills the same from a report of Nsight Systems. The form:
// github.com/pytorch/kineto, libkineto/src/output_json.cpp; the arguments of operators: PyTorch,
// torch/csrc/profiler/collection.cpp; those of collectives: torch/csrc/profiler/util.cpp (saveNcclMeta).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"

namespace orrery::doors::trace {

/// Text of a trace that is read at most, and events of it that are kept at most: some 100 bytes each.
inline constexpr std::uint64_t most_bytes = std::uint64_t{4} << 30U;
inline constexpr std::size_t most_events = std::size_t{1} << 24U;

inline constexpr std::uint32_t none = ~std::uint32_t{0};

/// What wrote a trace, in the words of messages about it.
struct Recorder {
    const char* name;
    const char* events;  ///< where its kernels are, as a pointer
    const char* remedy;  ///< how a trace comes to have kernels,
    const char* shapes;  ///< and products their shapes
};
inline constexpr Recorder torch_profiler{"torch.profiler", "/traceEvents",
                                         "record it with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
                                         "record it with record_shapes=True"};
inline constexpr Recorder nsight_systems{"Nsight Systems", "/CUPTI_ACTIVITY_KIND_KERNEL",
                                         "record it with nsys profile --trace=cuda,nvtx",
                                         "record it with nsys profile --pytorch=autograd-shapes-nvtx"};

/// batch products of [rows, depth] and [depth, columns], as an operator was given them.
struct Product {
    /// How the operands lie in memory, in the words of kernels::GemmPass; nothing where it does not say.
    std::optional<kernels::GemmPass> layout;
    bool strided = false;                 ///< the trace has strides; without a layout none of the passes' then
    std::optional<kernels::Dtype> dtype;  ///< nothing where it does not say: the kernels' names may
    std::uint32_t batch = 1, rows = 0, columns = 0, depth = 0;
    bool operator==(const Product&) const = default;
};

/// An operator, an annotation (record_function) or a module on a thread of the host. Times: ns of the trace's clock.
struct HostSpan {
    std::int64_t begin = 0, end = 0;
    std::uint32_t name = 0;        ///< index into Trace::names
    std::uint32_t thread = 0;      ///< numbered as they come
    std::int64_t sequence = -1;    ///< that autograd gives a forward operator and its backward one
    std::int64_t external = -1;    ///< "External id", which kernels have too
    std::uint32_t product = none;  ///< index into Trace::products
};

/// A call of the driver that starts something on the device.
struct Launch {
    std::int64_t begin = 0;
    std::int64_t correlation = -1;
    std::uint32_t thread = 0;
};

enum class Activity : std::uint8_t { kernel, copy, fill };

/// Something that ran on the device.
struct DeviceSpan {
    std::int64_t begin = 0, end = 0;
    std::int64_t correlation = -1, external = -1;
    std::uint32_t name = 0;
    std::uint32_t device = 0, stream = 0;
    Activity activity{};
    std::uint32_t collective = none;  ///< index into Trace::collectives
};

/// What NCCL was asked for, where PyTorch says so (2.3 and newer), or as far as the kernel's name tells.
struct Collective {
    std::string kind;   ///< "allreduce", "_allgather_base", ...
    std::string dtype;  ///< "BFloat16"
    std::uint64_t elements_in = 0, elements_out = 0;
    std::uint32_t ranks = 0;  ///< 0: not told, nor are the elements
    auto operator<=>(const Collective&) const = default;
};

struct Trace {
    const Recorder* recorder = &torch_profiler;
    std::vector<std::string> names;
    std::vector<HostSpan> host;
    std::vector<Launch> launches;
    std::vector<DeviceSpan> device;
    std::vector<Product> products;
    std::vector<Collective> collectives;
    std::optional<std::uint32_t> rank, ranks;  ///< of the job, where the trace says so
    std::vector<std::string> devices;          ///< names, by number
};

/// Reads the file, plain or compressed, without holding its text in memory. Throws Error (file, pointer) for one that
/// is no trace, is cut off, has times that are none, or is larger than most_bytes and most_events allow.
Trace read_trace(const std::string& file);

}  // namespace orrery::doors::trace
