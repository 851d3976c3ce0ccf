// Predictions held against runs of our own: the table and the plot of `orrery validate --run`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace orrery::validate {

/// One configuration: predicted before it ran.
struct ExecutedRow {
    std::string name;       ///< scenario and what was changed in it
    double predicted = 0;   ///< seconds of a step
    double half_width = 0;  ///< seconds: how far the profile's own uncertainty reaches
    double measured = 0;    ///< seconds, undisturbed or by the wall clock
    double wall = 0;        ///< seconds by the wall clock
    double spread = 0;      ///< of the wall clock: half the range between the quartiles
    double op_error = 0;    ///< median over the operations
    std::string largest{};  ///< the operations that explain most of the difference
    [[nodiscard]] double error() const { return predicted / measured - 1; }
    [[nodiscard]] bool inside() const;  ///< measured lies in predicted +- half_width
};

struct ExecutedSummary {
    double median = 0, worst = 0;  ///< of |error|
    double inside = 0;             ///< share of rows
    std::size_t pairs = 0;         ///< of configurations that differ by more than 3%
    std::size_t ordered = 0;       ///< of them, those that the prediction ranks as the measurement does
};
ExecutedSummary summary(const std::vector<ExecutedRow>& rows);

std::string to_text(const std::vector<ExecutedRow>& rows);
nlohmann::ordered_json to_json(const std::vector<ExecutedRow>& rows);
/// Predicted against measured on logarithmic axes, with the interval of each prediction and the line of equality.
std::string to_svg(const std::vector<ExecutedRow>& rows);

}  // namespace orrery::validate
