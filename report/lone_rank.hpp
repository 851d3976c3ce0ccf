// What one rank of a plan computes, run alone on one device, against what its profile says.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/measured.hpp"
#include "report/style.hpp"

namespace orrery::report {

/// Kernels of one name, phase and shape.
struct KernelGroup {
    std::string name, kernel;  ///< "up (forward)", "gemm bf16 1x2048x3072x768"
    std::uint32_t count = 0;
    double measured = 0, predicted = 0;  ///< seconds of all of them
    [[nodiscard]] double error() const { return measured > 0 ? predicted / measured - 1 : 0; }
};

struct LoneRank {
    std::uint32_t rank = 0, stage = 0;
    std::vector<KernelGroup> groups;     ///< the longest measured first
    double measured = 0, predicted = 0;  ///< seconds of all kernels
    std::uint64_t held = 0, peak = 0;    ///< bytes: measured, and predicted for its stage
    [[nodiscard]] double error() const { return measured > 0 ? predicted / measured - 1 : 0; }
};

/// kernel_seconds: predicted, of each kernel of strategies::build(scenario.plan). Throws Error when the run is not of
/// one rank of this scenario's plan alone.
LoneRank lone_rank(const scenarios::Scenario& scenario, const run::MeasuredRun& measured,
                   const std::vector<double>& kernel_seconds, Clock clock = Clock::wall);

/// rows: of the longest groups.
std::string to_text(const LoneRank& rank, const scenarios::Scenario& scenario, const run::MeasuredRun& measured,
                    Style style, std::size_t rows = 16);
nlohmann::ordered_json to_json(const LoneRank& rank, const run::MeasuredRun& measured);

}  // namespace orrery::report
