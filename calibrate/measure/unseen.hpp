// A profile against its device: shapes that the profile has not seen, measured and predicted.
#pragma once

#include <string>
#include <vector>

#include "calibrate/measure/record.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/suite/suite.hpp"

namespace orrery::calibrate {

/// Random shapes of one suite (gemm, pointwise or collective). Throws Error for another suite, which has none.
std::vector<Subject> random_subjects(const Suite& suite, const Bench& bench, std::size_t count, std::uint64_t seed);

struct UnseenShape {
    std::string subject;
    double measured = 0, predicted = 0, uncertainty = 0;
    bool settled = true;
    [[nodiscard]] double error() const;  ///< relative, signed: positive when predicted too slow
};

struct UnseenErrors {
    std::vector<UnseenShape> shapes;                 ///< largest error first
    double mean = 0, median = 0, p90 = 0, bias = 0;  ///< relative; bias: median of the signed errors
    double within = 0;  ///< share of shapes whose error is below twice the uncertainty that the profile states
};

/// What the records' subjects, measured on so many nodes, would have been predicted as. Failed records are left out.
UnseenErrors compare(const Predictor& predictor, const std::vector<Record>& records, std::uint32_t nodes);

}  // namespace orrery::calibrate
