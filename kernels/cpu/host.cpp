#include "kernels/cpu/host.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <fstream>

namespace orrery::kernels::cpu {

namespace {

/// The text after "key   :" on lines of a /proc file, to f.
template <class Function>
void each_value(const char* file, std::string_view key, const Function& f) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        const std::size_t colon = line.find(':');
        if (colon == line.npos || !line.starts_with(key)) continue;
        if (line.find_first_not_of(" \t", key.size()) != colon) continue;
        const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
        if (begin != line.npos) f(line.substr(begin));
    }
}

double seconds(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

Moment moment(clockid_t clock) {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return {seconds(clock), static_cast<std::uint64_t>(usage.ru_nivcsw)};
}

}  // namespace

std::string processor_name() {
    std::string name;
    each_value("/proc/cpuinfo", "model name", [&](const std::string& value) { name = value; });
    return name.empty() ? "CPU" : name;
}

std::uint64_t last_cache_bytes() {
    std::uint64_t largest = 0;
    for (int index = 0; index < 8; ++index) {
        std::ifstream in(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
        std::uint64_t size = 0;
        char unit = 0;
        if (!(in >> size)) continue;
        if (in >> unit) size <<= unit == 'K' ? 10 : unit == 'M' ? 20 : 0;
        largest = std::max(largest, size);
    }
    return largest;
}

std::uint64_t memory_bytes() {
    return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t available_bytes() {
    std::uint64_t kibibytes = 0;
    each_value("/proc/meminfo", "MemAvailable", [&](const std::string& value) { kibibytes = std::stoull(value); });
    return kibibytes > 0 ? kibibytes << 10 : memory_bytes();
}

std::uint32_t processors() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<std::uint32_t>(CPU_COUNT(&set));
    return static_cast<std::uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
}

ClockReading read_clocks() {
    double sum = 0;
    int count = 0;
    each_value("/proc/cpuinfo", "cpu MHz", [&](const std::string& value) {
        sum += std::stod(value);
        ++count;
    });
    ClockReading reading;
    if (count > 0) reading.core_hertz = 1e6 * sum / count;
    return reading;
}

Moment thread_moment() { return moment(CLOCK_THREAD_CPUTIME_ID); }
double wall_seconds() { return seconds(CLOCK_MONOTONIC); }
Moment wall_moment() { return moment(CLOCK_MONOTONIC); }

}  // namespace orrery::kernels::cpu
