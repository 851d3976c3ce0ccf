// What a calibration measures, a file a suite: the points to begin with, and where more are worth most.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "calibrate/measure/record.hpp"
#include "kernels/device.hpp"

namespace orrery::calibrate {

/// What a suite may know of the machine.
struct Bench {
    const kernels::Device* device = nullptr;
    std::uint32_t ranks = 1;
    std::vector<kernels::Dtype> dtypes;  ///< formats to measure, the most important first
    double seconds_per_point = 0.3;      ///< points that would take much longer are left out
    std::uint64_t seed = 1;

    [[nodiscard]] bool is_cpu() const { return device->facts().kind == "cpu"; }
    /// Largest footprint that fits beside its copies.
    [[nodiscard]] std::uint64_t most_bytes() const;
};

struct Suite {
    std::string_view name;
    std::string_view what;
    double share;  ///< of the time budget, relative to the other suites'
    /// Points to begin with, the most telling first: a calibration may run out of time.
    std::vector<Subject> (*grid)(const Bench& bench);
    /// More points, where the interpolation between those measured so far is least certain; none when it is good
    /// enough. Null: the suite has only its grid.
    std::vector<Subject> (*refine)(const Bench& bench, std::span<const Record> measured);
    /// Why the suite cannot run here; "" when it can.
    std::string_view (*obstacle)(const Bench& bench);
};

/// gemm, attention, pointwise, convolution, copy, collective, overlap, launch.
std::span<const Suite> suites();
/// Throws Error, with the names, for an unknown one.
const Suite& suite_named(std::string_view name);

// One function a file; suite.cpp holds the table.
std::vector<Subject> gemm_grid(const Bench& bench);
std::vector<Subject> gemm_refine(const Bench& bench, std::span<const Record> measured);
/// Random products as a training step has them and as it has them not: the population that the gemm suite is for.
/// Sizes are log-uniform from 64 up; half of them whole multiples of 16.
std::vector<kernels::Gemm> random_gemms(const Bench& bench, kernels::Dtype dtype, std::size_t count,
                                        std::uint64_t seed);
std::vector<Subject> attention_grid(const Bench& bench);
std::vector<Subject> pointwise_grid(const Bench& bench);
std::vector<Subject> pointwise_refine(const Bench& bench, std::span<const Record> measured);
std::vector<Subject> convolution_grid(const Bench& bench);
std::vector<Subject> copy_grid(const Bench& bench);
std::vector<Subject> copy_refine(const Bench& bench, std::span<const Record> measured);
std::vector<Subject> collective_grid(const Bench& bench);
std::vector<Subject> collective_refine(const Bench& bench, std::span<const Record> measured);
std::vector<Subject> overlap_grid(const Bench& bench);
std::vector<Subject> launch_grid(const Bench& bench);

/// A sweep over sizes: the size between two measured ones where leaving a point out errs most; 0 when every point is
/// predicted from its neighbours within `target`. x ascending.
struct SweepPoint {
    double x, seconds;
};
double worst_gap(std::span<const SweepPoint> sweep, double target);

}  // namespace orrery::calibrate
