#include "calibrate/suite/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <thread>

#include "base/error.hpp"

namespace orrery::calibrate {

namespace {

std::string_view always(const Bench&) { return ""; }
std::string_view needs_ranks(const Bench& bench) {
    return bench.ranks > 1 ? "" : "needs several ranks (--ranks, or mpirun -n)";
}
std::string_view needs_streams(const Bench& bench) {
    const bool alone = bench.is_cpu() && std::thread::hardware_concurrency() < 2;
    return alone ? "a single core runs one thing at a time" : "";
}
std::string_view needs_launches(const Bench& bench) {
    return bench.is_cpu() ? "a CPU runs its kernels when they are called" : "";
}

// Shares: most of a step's time is GEMM; collectives and memory-bound kernels come next.
constexpr std::array<Suite, 8> table{{
    {"gemm", "matrix products", 5, gemm_grid, gemm_refine, always},
    {"attention", "fused attention", 2, attention_grid, nullptr, always},
    {"pointwise", "memory-bound kernels", 3, pointwise_grid, pointwise_refine, always},
    {"convolution", "convolutions of images", 1, convolution_grid, nullptr, always},
    {"copy", "copies within the device and to its host", 1, copy_grid, copy_refine, always},
    {"collective", "collectives among the ranks", 3, collective_grid, collective_refine, needs_ranks},
    {"overlap", "kernels beside copies and collectives", 1, overlap_grid, nullptr, needs_streams},
    {"launch", "host and device time between kernels", 0.5, launch_grid, nullptr, needs_launches},
}};

}  // namespace

std::uint64_t Bench::most_bytes() const {
    const std::uint64_t memory = device->facts().memory_bytes;
    return memory == 0 ? UINT64_MAX : memory / 8;
}

std::span<const Suite> suites() { return table; }

const Suite& suite_named(std::string_view name) {
    std::string known;
    for (const Suite& suite : table) {
        if (suite.name == name) return suite;
        known += (known.empty() ? "" : ", ") + std::string(suite.name);
    }
    throw Error(fmt::format("unknown suite \"{}\"", name), "one or more of " + known);
}

double worst_gap(std::span<const SweepPoint> sweep, double target) {
    double worst = target, at = 0;
    for (std::size_t i = 1; i + 1 < sweep.size(); ++i) {
        const auto &low = sweep[i - 1], &here = sweep[i], &high = sweep[i + 1];
        const double t = (here.x - low.x) / (high.x - low.x);
        const double error = std::abs((low.seconds + t * (high.seconds - low.seconds)) / here.seconds - 1);
        // The wider of the two intervals beside the point hides more.
        const bool below = here.x / low.x >= high.x / here.x;
        const double from = below ? low.x : here.x, to = below ? here.x : high.x;
        if (to / from < 1.3 || error <= worst) continue;
        worst = error;
        at = std::sqrt(from * to);
    }
    return at;
}

}  // namespace orrery::calibrate
