// A measured step, from a trace of torch.profiler or Nsight Systems.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/trace/events.hpp"
#include "kernels/kernel.hpp"

namespace orrery::doors::trace {

struct Request {
    std::string file;
    std::string step = "ProfilerStep#";  ///< beginning of the annotation around a step
};

/// A product of matrices as it ran: all its kernels together, medians over the trace.
struct TimedProduct {
    kernels::Gemm gemm;
    double seconds = 0, spread = 0;  ///< spread: half the quartiles' range
    std::uint32_t times = 0;
};

/// What runs of one layer, phase and kind took in a step, each kernel for itself.
struct Group {
    std::optional<std::int32_t> layer;
    std::string phase, kind;        ///< phase: "" of communication and copies, which follow their stream
    double seconds = 0, count = 0;  ///< of a step, the mean
};

/// What was asked of NCCL, as often in a step.
struct CollectiveUse {
    std::string kind, dtype;
    std::uint64_t elements_in = 0, elements_out = 0;
    std::uint32_t ranks = 0;        ///< 0: not told, nor are the elements
    double seconds = 0, count = 0;  ///< of a step, the mean; waiting for other ranks included
};

struct Measurement {
    /// What `orrery compare` takes for a measurement: "step_time_s" (median), and all else under "trace".
    [[nodiscard]] nlohmann::ordered_json json() const;

    /// Of breakdown: "gemm", ..., "idle".
    static std::string_view use_name(std::size_t use);

    const Recorder* recorder = &torch_profiler;
    std::string file, device;  ///< device: as its driver calls it; "" where the trace does not say
    std::optional<std::uint32_t> rank, ranks;
    std::vector<std::string> step_names;
    std::vector<double> step_seconds;
    std::vector<double> breakdown;  ///< seconds of the mean step, by Use
    struct StreamUse {
        std::uint32_t stream;
        std::uint64_t kernels, gaps;
        double busy, idle, median_gap;  ///< seconds, of the mean step
    };
    std::vector<StreamUse> streams;
    std::vector<Group> groups;
    std::vector<CollectiveUse> collectives;
    std::vector<TimedProduct> products;
    std::uint64_t products_left_out = 0;  ///< products whose operands lie in a way that the trace does not tell
    std::uint64_t kernels = 0;
    double in_layers = 0;  ///< share of the time of products and attention whose layer is known
};

/// Throws Error (file, pointer) for a file that is no trace of a GPU.
Measurement measure(const Request& request);

/// The same of a trace that was read; the file's name is for messages.
Measurement measure(const Trace& trace, const Request& request);

}  // namespace orrery::doors::trace
