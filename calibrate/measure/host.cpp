#include "calibrate/measure/host.hpp"

#include <sys/resource.h>

#include <array>
#include <chrono>
#include <fstream>
#include <thread>

namespace orrery::calibrate {

ProcessorTime processor_time() {
    std::ifstream in("/proc/stat");
    std::string word;
    std::array<std::uint64_t, 8> ticks{};  // user nice system idle iowait irq softirq steal
    if (!(in >> word) || word != "cpu") return {};
    for (auto& t : ticks) in >> t;
    ProcessorTime out;
    for (const auto t : ticks) out.total += t;
    out.busy = out.total - ticks[3] - ticks[4];
    return out;
}

double busy_share(const ProcessorTime& from, const ProcessorTime& to) {
    if (to.total <= from.total) return 0;
    return static_cast<double>(to.busy - from.busy) / static_cast<double>(to.total - from.total);
}

double others_share(double seconds) {
    const ProcessorTime from = processor_time();
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return busy_share(from, processor_time());
}

std::uint64_t involuntary_switches() {
    rusage usage{};
    return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_nivcsw) : 0;
}

double wall_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace orrery::calibrate
