// What the time of a GEMM grows with: the smooth part that scattered measurements are interpolated around.
#pragma once

#include "calibrate/roofline.hpp"
#include "calibrate/scattered_times.hpp"

namespace orrery::calibrate {

/// Time as a sum of what a blocked matrix product does one after the other (Goto and van de Geijn, Anatomy of
/// High-Performance Matrix Multiplication, 2008): start, products in whole vectors, packing of A and B, writing of C.
CostTerms parts_of(const kernels::Gemm& gemm);

/// Whether a table is interpolated so: measured here (published tables give no half-widths), and of shapes that leave
/// most of their grid empty.
bool is_scattered(const GemmTable& table);

/// A table of scattered shapes, ready for look-up: over ln m, ln n, ln k and what steps (gemm_trend.cpp), around the
/// roofline or parts_of.
class GemmScatter {
public:
    /// With the table's own settings where it holds some that were chosen for as many points; else chooses them.
    GemmScatter(const GemmTable& table, const Machine& machine);

    [[nodiscard]] ScatteredTimes::Answer at(const kernels::Gemm& gemm, const Machine& machine) const;
    /// Relative errors of each point predicted from the others.
    [[nodiscard]] std::vector<double> leave_one_out() const { return times_.leave_one_out(); }
    [[nodiscard]] ScatterSettings settings() const { return times_.settings(); }

private:
    kernels::Dtype dtype_;
    ScatteredTimes times_;
};

}  // namespace orrery::calibrate
