// Whether predictions put plans in the order in which they were measured: what a search for the best one needs.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace orrery::validate {

struct Result;

/// Of the predicted rows of a source, by group (Result::group). Rows of one scenario are one plan, at the median of
/// what they measured; plans of which neither takes over 5% longer than the quickest of them are not told apart.
struct Order {
    std::size_t groups = 0;          ///< of at least four plans, three of which differ
    std::optional<double> spearman;  ///< mean over groups: of the medians of plans that are not told apart
    std::size_t pairs = 0;           ///< of plans of a group, of which one takes over 5% longer
    std::size_t ordered = 0;         ///< of these, how many are predicted in that order
};
Order order_of(std::span<const Result* const> predicted);

/// Ranks from 1; equal values share the mean of the ranks they occupy.
std::vector<double> ranks(std::span<const double> values);

/// Spearman's rank correlation: Pearson's of the ranks. nullopt for fewer than two values, different lengths, or when
/// either side is constant.
std::optional<double> spearman(std::span<const double> a, std::span<const double> b);

/// Groups of fewer plans, or of fewer that differ, say nothing about order.
inline constexpr std::size_t least_group = 4, least_different = 3;
/// Of plans that differ by less than this the order is noise.
inline constexpr double least_spread = 0.05;

}  // namespace orrery::validate
