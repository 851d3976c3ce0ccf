// Where two profiles differ.
#pragma once

#include <string>
#include <vector>

#include "calibrate/predictor.hpp"

namespace orrery::calibrate {

/// One measured row of the first profile, and what the second predicts for it.
struct ComparedRow {
    std::string subject;
    double first = 0, second = 0;  ///< seconds
    [[nodiscard]] double ratio() const { return second / first; }
};

/// All rows of one suite: "gemm bf16", "attention", "add", "all_reduce among 8".
struct ComparedSuite {
    std::string name;
    std::vector<ComparedRow> rows;        ///< largest difference first
    double p10 = 1, median = 1, p90 = 1;  ///< of the ratios second over first
};

/// Every table of the first profile that the second can answer; what it cannot is left out. GEMM and attention at each
/// table's own clock.
std::vector<ComparedSuite> compare_profiles(const Predictor& first, const Predictor& second);

}  // namespace orrery::calibrate
