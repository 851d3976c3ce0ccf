#include "cli/machine_load.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace orrery::cli {

namespace {

double seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double own_seconds() {
    double sum = 0;
    for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
        rusage usage{};
        if (getrusage(who, &usage) == 0) sum += seconds(usage.ru_utime) + seconds(usage.ru_stime);
    }
    return sum;
}

double machine_seconds() {
    std::ifstream file("/proc/stat");
    std::string line;
    std::getline(file, line);  // all cores together
    return busy_seconds(line, static_cast<double>(sysconf(_SC_CLK_TCK)));
}

}  // namespace

double busy_seconds(std::string_view proc_stat, double ticks) {
    std::istringstream words{std::string(proc_stat.substr(0, proc_stat.find('\n')))};
    std::string cpu;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft = 0, stolen = 0;
    words >> cpu >> user >> nice >> system >> idle >> waiting >> interrupts >> soft >> stolen;
    if (!words || cpu != "cpu") return -1;
    return (user + nice + system + interrupts + soft + stolen) / ticks;
}

OtherLoad::OtherLoad() : since_(std::chrono::steady_clock::now()), busy_(machine_seconds()), own_(own_seconds()) {}

double OtherLoad::cores() const {
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count();
    const double busy = machine_seconds();
    if (busy_ < 0 || busy < 0 || wall <= 0) return 0;
    return std::max(0.0, ((busy - busy_) - (own_seconds() - own_)) / wall);
}

}  // namespace orrery::cli
