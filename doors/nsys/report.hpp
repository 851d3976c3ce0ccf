// A step that NVIDIA Nsight Systems recorded, from its report exported to SQLite. The tables: Nsight Systems User
// Guide, "SQLite Schema Reference" and "Common SQLite Examples" (docs.nvidia.com/nsight-systems/UserGuide).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doors/trace/events.hpp"
#include "doors/trace/measurement.hpp"

namespace orrery::doors::nsys {

struct Request {
    std::string file;
    std::string step = "step";                 ///< beginning of the NVTX range around a step
    std::optional<std::int64_t> process = {};  ///< that is read; nothing: the one of most kernels
    std::optional<std::uint32_t> rank = {};    ///< that the process was: reports do not say
};

/// One process of a report.
struct Recording {
    trace::Trace trace;
    std::int64_t process = 0;             ///< its number
    std::vector<std::int64_t> processes;  ///< all that ran kernels, in their order
};

/// Throws Error (file, table, row, column) for one that is no such report, is cut off, has times that are none, no such
/// process, graphs whose kernels it does not tell, or more events than trace::most_events.
Recording read_report(const Request& request);

struct Measured {
    trace::Measurement step;
    std::int64_t process = 0;
    std::vector<std::int64_t> processes;
};
Measured measure(const Request& request);

}  // namespace orrery::doors::nsys
