#include "cli/device/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>

#include "base/units.hpp"
#include "kernels/device.hpp"

namespace orrery::cli {

namespace {

volatile std::sig_atomic_t stopped = 0;

void on_signal(int) { stopped = 1; }

void list_devices() {
    for (const auto kind : kernels::device_kinds()) {
        try {
            const auto device = kernels::open_device(kind);
            const kernels::DeviceFacts& facts = device->facts();
            fmt::print("{:6} {}, {} memory, {}\n", kind, facts.name,
                       format_bytes(static_cast<double>(facts.memory_bytes)), facts.software);
        } catch (const kernels::DeviceError& error) {
            fmt::print("{:6} none: {}\n", kind, error.what());
        }
    }
}

}  // namespace

bool stop_requested() {
    static const bool installed = [] {
        struct sigaction action {};
        action.sa_handler = on_signal;
        action.sa_flags = SA_RESTART;
        return sigaction(SIGINT, &action, nullptr) == 0 && sigaction(SIGTERM, &action, nullptr) == 0;
    }();
    return installed && stopped != 0;
}

double budget_seconds(const std::string& text) {
    const auto unit = std::ranges::find_if(text, [](unsigned char c) { return std::isalpha(c) != 0; });
    std::string spaced(text.begin(), unit);
    while (!spaced.empty() && spaced.back() == ' ') spaced.pop_back();
    return parse_seconds(spaced + ' ' + std::string(unit, text.end()));
}

void add_device_list(CLI::App& program, Exit&) {
    CLI::App* const command = program.add_subcommand("list", "the devices that this build can measure");
    command->footer("Example:\n  orrery-device list");
    command->callback([] { list_devices(); });
}

}  // namespace orrery::cli
