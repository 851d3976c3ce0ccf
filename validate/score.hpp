// How far predictions are from measurements: per row, per source, over all sources.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "validate/gave_constants.hpp"
#include "validate/order.hpp"

namespace orrery::validate {

/// One row's outcome. Values are seconds (steps, collectives) or bytes (memory).
struct Result {
    std::string id, source, kind;
    bool predicted = false;
    std::string reason;                   ///< of a skipped row
    double measured = 0, prediction = 0;  ///< of a predicted row; a collective's are those of its median size
    double error = 0;                     ///< prediction / measured - 1; a collective's: median over sizes of |error|
    double signed_error = 0;              ///< error; a collective's: median over sizes of the signed error
    double low = 0, high = 0;             ///< of the prediction's interval; 0: it has none
    std::size_t sizes = 1;                ///< comparisons behind the error
    std::size_t scenario = 0;             ///< a number that rows of equal scenarios share; 0: none
    /// Rows of one group did the same kind of work on the same machine ("" for none), and are ordered by rank_measured
    /// and rank_prediction: seconds per sequence, so that batches of different size compare.
    std::string group;
    double rank_measured = 0, rank_prediction = 0;
};

struct Worst {
    std::string id;
    double error = 0;
};

struct SourceScore {
    std::string source;
    std::size_t rows = 0, predicted = 0, skipped = 0;
    std::map<std::string, std::size_t> reasons;  ///< skipped rows by reason
    // Absent without a predicted row.
    std::optional<double> median, mean;  ///< of |error|
    std::optional<double> bias;          ///< mean of the signed errors
    Order order;
    std::vector<Worst> worst;  ///< at most ten, the largest |error| first
};

/// Over sources: those with fewer predicted rows than least_rows say little by themselves.
struct Summary {
    std::size_t least = 0;  ///< predicted rows of a source that counts: least_rows, 1 where none has so many
    std::size_t sources = 0, rows = 0;      ///< counted: sources of the mean, rows of the shares
    std::optional<double> mean_of_medians;  ///< over sources with `least` rows
    std::optional<double> within_tenth;     ///< share of all rows with an error of at most 10%
    std::optional<double> inside;    ///< share of the rows that carry an interval in which the measured value lies
    std::size_t ordering = 0;        ///< sources with at least eight pairs of plans that differ
    std::optional<double> ordered;   ///< mean over these: share of their pairs that are predicted in order
    std::optional<double> spearman;  ///< mean over the sources that have one
};

struct Table {
    std::vector<Result> rows;          ///< in input order
    std::vector<SourceScore> sources;  ///< in order of first appearance
    Summary all, independent;          ///< independent: without sources that were looked at (gave_constants.hpp)
};

inline constexpr std::size_t most_worst = 10;
inline constexpr std::size_t least_rows = 8;

/// Rows of several sources, scored by source. seen: whether a source was looked at, and is not independent.
Table score(std::vector<Result> rows, bool (*seen)(std::string_view source) = looked_at);

}  // namespace orrery::validate
