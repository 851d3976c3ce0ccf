#include "cli/device/commands.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "base/units.hpp"
#include "kernels/device.hpp"

namespace orrery::cli {

namespace {

void list_devices() {
    for (const auto kind : kernels::device_kinds()) {
        try {
            const auto device = kernels::open_device(kind);
            const kernels::DeviceFacts& facts = device->facts();
            fmt::print("{:6} {}, {} memory, {}\n", kind, facts.name,
                       format_bytes(static_cast<double>(facts.memory_bytes)), facts.software);
        } catch (const kernels::DeviceError& error) {
            fmt::print("{:6} none: {}\n", kind, error.what());
        } catch (const Error& error) {
            fmt::print("{:6} none: {}\n", kind, error.message());
        }
    }
}

}  // namespace

std::string text_of(const std::string& file, const std::string& hint) {
    return file == "-" ? read_standard_input(hint) : read_file(file, hint);
}

/// The signals are held back and asked for, and no handler ever runs: one that interrupts oneDNN 2.6's sgemm on AVX-512
/// corrupts the heap, since the frame of a handler lands in memory that the product works in.
bool stop_requested() {
    static const bool held_back = [] {
        sigset_t both;
        sigemptyset(&both);
        sigaddset(&both, SIGINT);
        sigaddset(&both, SIGTERM);
        return pthread_sigmask(SIG_BLOCK, &both, nullptr) == 0;
    }();
    sigset_t pending;
    sigemptyset(&pending);
    return held_back && sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
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
