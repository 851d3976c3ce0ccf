// What the time of a GEMM grows with: the smooth part that scattered measurements are interpolated around.
#pragma once

#include <array>
#include <optional>

#include "calibrate/kriging.hpp"
#include "calibrate/roofline.hpp"

namespace orrery::calibrate {

/// Time as a sum of what a blocked matrix product does one after the other (Goto and van de Geijn, Anatomy of
/// High-Performance Matrix Multiplication, 2008): start, products in whole vectors, packing of A and B, writing of C.
/// Each share is fitted to the table and never negative.
class GemmTrend {
public:
    static constexpr std::size_t terms = 8;
    using Terms = std::array<double, terms>;

    explicit GemmTrend(const GemmTable& table);
    /// Fitted before.
    explicit GemmTrend(const Terms& cost) : cost_(cost) {}
    [[nodiscard]] double seconds(const kernels::Gemm& gemm) const;
    [[nodiscard]] const Terms& cost() const { return cost_; }

private:
    Terms cost_{};  ///< seconds per unit of each term
};

/// Whether a table is interpolated so: measured here (published tables give no half-widths), and of shapes that leave
/// most of their grid empty.
bool is_scattered(const GemmTable& table);

/// Chooses the settings of every scattered table that has none, from the times that the written file will hold.
void choose_settings(Profile& profile);

/// A table of scattered shapes, ready for look-up: ln(time / baseline) by kriging over ln m, ln n, ln k and whether
/// each fills whole vectors. The baseline is the roofline or the trend, whichever makes the table more likely.
class GemmScatter {
public:
    /// With the table's own settings where it holds some that were chosen for as many points; else chooses them.
    GemmScatter(const GemmTable& table, const Machine& machine);

    struct Answer {
        double seconds = 0;
        double uncertainty = 0;  ///< relative, one standard deviation
        bool outside = false;    ///< a dimension lies beyond the measured ones
    };
    [[nodiscard]] Answer at(const kernels::Gemm& gemm, const Machine& machine) const;
    /// Relative errors of each point predicted from the others.
    [[nodiscard]] std::vector<double> leave_one_out() const;
    [[nodiscard]] ScatterSettings settings() const;

private:
    [[nodiscard]] double baseline(const kernels::Gemm& gemm, const Machine& machine) const;
    /// ln(time / baseline) of every point.
    [[nodiscard]] ScatteredValues residuals(const GemmTable& table, const Machine& machine) const;
    void choose(const GemmTable& table, const Machine& machine);

    kernels::Dtype dtype_;
    std::optional<GemmTrend> trend_;
    std::optional<Kriging> residual_;
    std::array<double, 3> low_{}, high_{};
};

}  // namespace orrery::calibrate
