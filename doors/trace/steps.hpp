// The steps of a trace: which kernels belong to which, and where their time goes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "doors/trace/attribution.hpp"
#include "doors/trace/events.hpp"

namespace orrery::doors::trace {

/// Name of the step that all is without an annotation around each.
inline constexpr std::string_view whole_trace = "the whole trace";

/// What the device does at a moment, in seconds of a step: of several things at once the first of these. Their sum is
/// the step. A prediction's breakdown (sim/step.hpp) has the same, its communication by axis, and waiting for the host
/// apart from waiting for other stages.
enum class Use : std::uint8_t { gemm, attention, memory_bound, optimizer, communication, copies, idle };
inline constexpr std::size_t uses = 7;
std::string_view name(Use use);

struct Step {
    std::string name;
    std::int64_t begin = 0, end = 0;     ///< ns
    std::vector<std::uint32_t> device;   ///< indices into Trace::device, by begin
    std::array<double, uses> seconds{};  ///< by Use
    [[nodiscard]] double length() const { return static_cast<double>(end - begin) * 1e-9; }
};

/// Annotations whose name begins with `marker` are the steps, of the device that does most; a kernel belongs to the
/// step in which it was launched. A step lasts from its first kernel to that of the next; the last is left out, since
/// its end is not seen, unless it is the only one: then it ends with its last kernel or its annotation. Without such
/// an annotation all is one step. Throws Error (file) for a trace without kernels.
std::vector<Step> steps(const Trace& trace, const std::vector<Origin>& origins, std::string_view marker,
                        const std::string& file);

/// One stream over all the steps.
struct Stream {
    std::uint32_t stream = 0;
    std::uint64_t kernels = 0, gaps = 0;
    double busy = 0, idle = 0;  ///< seconds; idle: between two of its kernels of one step
    double median_gap = 0;      ///< seconds
};
std::vector<Stream> streams(const Trace& trace, const std::vector<Step>& steps);

}  // namespace orrery::doors::trace
