// The machine around the measurement: how busy others keep it, and whether the thread was taken off its core.
#pragma once

#include <cstdint>
#include <string>

namespace orrery::calibrate {

/// Busy and total processor time since the machine started, in ticks (/proc/stat). Zero where there is none.
struct ProcessorTime {
    std::uint64_t busy = 0, total = 0;
};
ProcessorTime processor_time();

/// Share of all processors that was busy between two readings; 0 when none was taken.
double busy_share(const ProcessorTime& from, const ProcessorTime& to);

/// Watches the machine for a moment without using it: the share that others keep busy.
double others_share(double seconds);

/// Times a thread of this process, a product's helpers included, was taken off its core for another (ru_nivcsw).
std::uint64_t involuntary_switches();

/// Seconds of a clock that never goes back.
double wall_seconds();

}  // namespace orrery::calibrate
