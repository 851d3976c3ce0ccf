// How busy this machine is with the work of others, which a wall clock cannot tell from one's own.
#pragma once

#include <chrono>
#include <string_view>

namespace orrery::cli {

/// Seconds of all cores together that were not idle since the machine started, by the text of /proc/stat: user,
/// system, interrupts and what other guests of the host took (proc(5)). ticks: of a second. Negative when it is no such
/// text.
double busy_seconds(std::string_view proc_stat, double ticks);

/// Watches from its construction on.
class OtherLoad {
public:
    OtherLoad();
    /// Cores that other processes kept busy since then, on average: those of this process and of its children that
    /// have ended do not count. 0 where the system does not say.
    [[nodiscard]] double cores() const;

private:
    std::chrono::steady_clock::time_point since_;
    double busy_, own_;  // seconds
};

}  // namespace orrery::cli
