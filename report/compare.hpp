// A prediction held against a measurement, operation by operation.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/records.hpp"
#include "report/side.hpp"
#include "report/style.hpp"

namespace orrery::report {

/// Seconds of both sides; error: predicted over measured, minus one.
struct Pair {
    std::string name;
    double predicted = 0, measured = 0;
    [[nodiscard]] double error() const { return measured > 0 ? predicted / measured - 1 : 0; }
    [[nodiscard]] double difference() const { return predicted - measured; }
};

/// Operations of one name, phase and kind: of all micro-batches and layers of all ranks, as seconds of the mean rank.
struct OpGroup {
    Pair seconds;
    std::string kind;
    double count = 0;         ///< operations of a rank, the mean
    double median_error = 0;  ///< of |error| over the joined operations
    double spread = 0;        ///< median over the operations of the measured spread, relative; 0: not given
};

struct Comparison {
    Pair step;
    double step_spread = 0;        ///< measured, relative; 0: not given
    std::vector<Pair> categories;  ///< mean over the stages, in the order of the breakdown
    std::vector<OpGroup> groups;   ///< by |difference|, largest first; empty without operations
    std::vector<Pair> memory;      ///< bytes, peak by stage
    std::size_t joined = 0;        ///< operations that both sides have
    double median_op_error = 0;    ///< of |error| over the joined operations that last at all
    /// Held against another program's trace (compare_trace.hpp): groups are of layers, phases and kinds of one rank,
    /// nothing is joined operation by operation, and there is no memory.
    bool traced = false;
    /// Of model, strategy and training: where the run was not of what was predicted.
    std::vector<ChangedKey> differs{};
};

/// Both documents are reports of `simulate --json` or `run --json`, or the measured one is of `import torch-trace` or
/// `import nsys`.
/// Operations are joined on (rank, operation) where both have them (simulate --operations). Throws Error (file,
/// pointer) for documents that are no reports, whose programs differ, or whose numbers are not positive.
Comparison compare(const nlohmann::json& predicted, const std::string& predicted_file, const nlohmann::json& measured,
                   const std::string& measured_file);

/// Tables: step, categories, memory, and the operations that explain most of the difference.
std::string to_text(const Comparison& comparison, Style style, std::size_t rows = 12);
/// The same for programs.
nlohmann::ordered_json to_json(const Comparison& comparison);
/// All of it as one table: part (step, category, memory, operation), name, kind, count, predicted, measured, error.
Records records(const Comparison& comparison);

}  // namespace orrery::report
