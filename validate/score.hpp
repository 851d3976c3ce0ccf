// How far predictions are from measurements: per row, per source, over all sources.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "validate/gave_constants.hpp"

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
    // Absent without a predicted row; spearman without a group of four.
    std::optional<double> median, mean;  ///< of |error|
    std::optional<double> bias;          ///< mean of the signed errors
    std::optional<double> spearman;      ///< mean over groups
    std::size_t groups = 0;
    std::vector<Worst> worst;  ///< at most ten, the largest |error| first
};

/// Over sources: those with fewer predicted rows than least_rows say little by themselves.
struct Summary {
    std::size_t least = 0;  ///< predicted rows of a source that counts: least_rows, 1 where none has so many
    std::size_t sources = 0, rows = 0;      ///< counted: sources of the mean, rows of the shares
    std::optional<double> mean_of_medians;  ///< over sources with `least` rows
    std::optional<double> within_tenth;     ///< share of all rows with an error of at most 10%
    std::optional<double> inside;  ///< share of the rows that carry an interval in which the measured value lies
};

struct Table {
    std::vector<Result> rows;          ///< in input order
    std::vector<SourceScore> sources;  ///< in order of first appearance
    Summary all, independent;          ///< independent: without sources that were looked at (gave_constants.hpp)
};

/// Ranks from 1; equal values share the mean of the ranks they occupy.
std::vector<double> ranks(std::span<const double> values);

/// Spearman's rank correlation: Pearson's of the ranks. nullopt for fewer than two values, different lengths, or when
/// either side is constant.
std::optional<double> spearman(std::span<const double> a, std::span<const double> b);

/// Groups smaller than this say nothing about order.
inline constexpr std::size_t least_group = 4;
inline constexpr std::size_t most_worst = 10;
inline constexpr std::size_t least_rows = 8;
/// Of a group whose rows differ by less than this the order is noise.
inline constexpr double least_spread = 0.05;

/// Rows of several sources, scored by source. seen: whether a source was looked at, and is not independent.
Table score(std::vector<Result> rows, bool (*seen)(std::string_view source) = looked_at);

}  // namespace orrery::validate
