// Times of memory-bound kernels: effective bandwidth against bytes moved.
#pragma once

#include <map>
#include <string>

#include "calibrate/interpolate.hpp"
#include "calibrate/predictor.hpp"

namespace orrery::calibrate {

/// The measured kind whose curve answers for a kind that no table covers: alike in access pattern.
/// The same kind when nothing is nearer.
kernels::PointwiseKind stand_in(kernels::PointwiseKind kind);

class PointwisePredictor {
public:
    explicit PointwisePredictor(const Profile& profile);
    [[nodiscard]] Estimate estimate(const kernels::Pointwise& kernel) const;
    [[nodiscard]] std::string explain(const kernels::Pointwise& kernel) const;

private:
    struct Lookup {
        const PointwiseTable* table;
        Curve seconds;  ///< over bytes, non-decreasing
    };
    [[nodiscard]] const Lookup* lookup(kernels::PointwiseKind kind) const;

    double bytes_per_second_, latency_ = 0;
    std::map<kernels::PointwiseKind, Lookup> tables_;
};

}  // namespace orrery::calibrate
