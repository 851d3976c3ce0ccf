// GEMM times: measured time over roofline time, interpolated over (m, n, k) in logarithms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/gemm_trend.hpp"
#include "calibrate/interpolate.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/roofline.hpp"

namespace orrery::calibrate {

/// A known cell that speaks for a missing one, and how much.
struct GemmVote {
    double value, weight;
};

/// One measured table, ready for look-up. A table that fills its (m, n, k) grid (published sweeps) is interpolated
/// between the corners of the cell; absent cells are filled from their neighbours along n and k. A measured table
/// of scattered shapes answers by kriging; a published one of a few (DeepBench) with its nearest points, m and n being
/// exchangeable.
class GemmLookup {
public:
    GemmLookup(const GemmTable& table, const Machine& machine);

    /// Time of a product of this table's pass, at its clock. Outside a grid the nearest edge's efficiency holds.
    [[nodiscard]] Estimate estimate(const kernels::Gemm& gemm, const Machine& machine) const;
    /// Where kriging answers: what it says.
    [[nodiscard]] std::optional<ScatteredTimes::Answer> kriged(const kernels::Gemm& gemm, const Machine& machine) const;
    /// The table's rows behind that answer, where kriging does not give it, else the nearest: index into
    /// table().points and weight, largest first.
    [[nodiscard]] std::vector<Weight> sources(double m, double n, double k) const;
    [[nodiscard]] const GemmTable& table() const { return *table_; }
    /// Highest rate in the table, flop/s.
    [[nodiscard]] double best_rate() const { return best_rate_; }

private:
    /// ln(time / roofline) at a shape.
    [[nodiscard]] double log_ratio(double m, double n, double k, bool& outside) const;
    [[nodiscard]] double half_width(double m, double n, double k) const;
    void build_grid(const std::vector<double>& ratios);
    void build_scatter();
    void fill();
    void vote_at(std::size_t a, std::size_t b, std::size_t c, double confidence, std::vector<GemmVote>& votes) const;
    [[nodiscard]] double guess(std::size_t a, std::size_t b, std::size_t c) const;
    [[nodiscard]] std::size_t cell(std::size_t a, std::size_t b, std::size_t c) const {
        return (a * n_.size() + b) * k_.size() + c;
    }

    const GemmTable* table_;
    double best_rate_ = 0;
    std::vector<double> m_, n_, k_;  // logarithms of the axes; empty for a sparse table
    std::vector<float> ratio_;       // ln(time / roofline): by cell, or by point of a sparse table
    std::vector<std::int32_t> row_;  // grid cell -> row of the table, -1 where it was filled
    Scatter<3> scatter_;
    std::optional<GemmScatter> kriging_;  // of a measured table of scattered shapes
};

class GemmPredictor {
public:
    explicit GemmPredictor(const Profile& profile);
    /// What runs in the tables where there is none of a product's format: itself, or a product of a wider format.
    [[nodiscard]] kernels::Gemm stand_in(const kernels::Gemm& gemm) const;
    /// At the clock of the table (before the sustained clock). Throws Error when the profile has no GEMM table.
    [[nodiscard]] Estimate at_table_clock(const kernels::Gemm& gemm) const;
    [[nodiscard]] Estimate estimate(const kernels::Gemm& gemm) const;
    [[nodiscard]] std::string explain(const kernels::Gemm& gemm) const;
    /// In the profile's order.
    [[nodiscard]] const std::vector<GemmLookup>& tables() const { return tables_; }

private:
    [[nodiscard]] const GemmLookup& lookup(const kernels::Gemm& gemm, bool& exact) const;
    [[nodiscard]] double sustained(kernels::Dtype table) const;
    /// Which rows of the table, or what is interpolated among them.
    [[nodiscard]] std::string explain_rows(const GemmLookup& table, const kernels::Gemm& ran) const;
    /// How much longer it takes where rows of its operands begin between words.
    [[nodiscard]] double unaligned(const kernels::Gemm& gemm) const;
    /// How much longer it takes on the multiprocessors that it keeps.
    [[nodiscard]] double spared(const kernels::Gemm& gemm) const;
    /// A batched product that was measured itself, or null.
    [[nodiscard]] const BatchedGemmPoint* measured(const kernels::Gemm& gemm) const;

    const std::vector<BatchedGemmTable>* batched_;
    Machine machine_;
    double sustained_, sustained_single_, sustained_fp8_, sustained_fp4_;  ///< 16 bits, fp32, fp8, fp4
    bool short_repeats_;                                                   ///< of 16 bits
    double unaligned_, partly_aligned_;
    std::string profile_name_;
    std::vector<GemmLookup> tables_;
};

}  // namespace orrery::calibrate
