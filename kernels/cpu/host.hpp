// What this machine is, and its clocks: /proc, /sys and the C library.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/device.hpp"

namespace orrery::kernels::cpu {

/// "model name" of /proc/cpuinfo; "CPU" when it does not tell.
std::string processor_name();
/// Bytes of the last level of cache that one core sees; 0 when /sys does not tell.
std::uint64_t last_cache_bytes();
std::uint64_t memory_bytes();
/// Memory that can be had without swapping (MemAvailable of /proc/meminfo).
std::uint64_t available_bytes();
/// Logical processors this process may run on.
std::uint32_t processors();
/// Mean "cpu MHz" of /proc/cpuinfo; the rest is unknown to a process without rights.
ClockReading read_clocks();

/// A moment of the calling thread.
struct Moment {
    double seconds = 0;
    std::uint64_t switches = 0;  ///< involuntary context switches of the thread so far
};
/// CLOCK_THREAD_CPUTIME_ID: untouched by what else the machine does, but for caches and memory.
Moment thread_moment();
/// CLOCK_MONOTONIC.
double wall_seconds();
/// The same; switches of the calling thread alone.
Moment wall_moment();

}  // namespace orrery::kernels::cpu
