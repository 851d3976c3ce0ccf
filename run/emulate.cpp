#include "run/emulate.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "base/error.hpp"

namespace orrery::run {

namespace {

using Clock = std::chrono::steady_clock;
constexpr unsigned long slack_nanoseconds = 1000;  // the kernel's default lets a sleep last 50 us longer

/// When the last kernel of each lane should have ended; a lane's is used by its own thread alone.
using Due = std::array<Clock::time_point, strategies::lanes>;

void sleep_until(Clock::time_point end) {
    static thread_local const int precise = prctl(PR_SET_TIMERSLACK, slack_nanoseconds);
    (void)precise;
    std::this_thread::sleep_until(end);
}

/// Null when the item is no kernel.
const strategies::Compute* kernel_of(const Item& item, const strategies::StepProgram& step,
                                     const strategies::Program& program) {
    if (item.host) return nullptr;
    const strategies::Op& op = program.ops[item.op];
    if (item.inner < 0) return std::get_if<strategies::Compute>(&op.what);
    const auto& block = step.blocks[std::get<strategies::Call>(op.what).block];
    return std::get_if<strategies::Compute>(&block.ops[static_cast<std::size_t>(item.inner)].what);
}

}  // namespace

void emulate(BoundProgram& bound, const strategies::StepProgram& step, const strategies::Program& program,
             kernels::Device& device, const std::vector<double>& seconds) {
    if (seconds.size() != step.kernels.size())
        throw Error(
            fmt::format("the plan has times of {} kernels, its program {}", seconds.size(), step.kernels.size()),
            "orrery and orrery-device must be of the same build");
    const auto due = std::make_shared<Due>();
    std::array<bool, strategies::lanes> in_row{};  // the lane's last item is a kernel, with nothing to wait for since
    for (Item& item : bound.items) {
        const auto lane = static_cast<std::size_t>(item.lane);
        const auto* kernel = kernel_of(item, step, program);
        if (item.host) in_row.fill(false);
        if (kernel == nullptr) {
            in_row[lane] = false;
            continue;
        }
        const bool waits =
            std::ranges::any_of(item.waits, [&](std::uint32_t other) { return bound.items[other].lane != item.lane; });
        const auto time =
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds[kernel->kernel]));
        item.action = [&device, due, lane, time, follows = in_row[lane] && !waits](kernels::Stream stream) {
            device.run(
                [due, lane, time, follows] {
                    Clock::time_point& end = (*due)[lane];
                    end = (follows ? end : Clock::now()) + time;
                    sleep_until(end);
                },
                stream);
        };
        in_row[lane] = true;
    }
}

}  // namespace orrery::run
