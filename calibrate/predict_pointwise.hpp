// Times of memory-bound kernels: effective bandwidth against bytes moved.
#pragma once

#include <string>
#include <vector>

#include "calibrate/interpolate.hpp"
#include "calibrate/predictor.hpp"

namespace orrery::calibrate {

/// The measured kind whose curve answers for a kind that no table covers: alike in access pattern.
/// The same kind when nothing is nearer.
kernels::PointwiseKind stand_in(kernels::PointwiseKind kind);

class PointwisePredictor {
public:
    explicit PointwisePredictor(const Profile& profile);
    /// At the bandwidth that lasts.
    [[nodiscard]] Estimate estimate(const kernels::Pointwise& kernel) const;
    /// As the tables were measured.
    [[nodiscard]] Estimate at_table_clock(const kernels::Pointwise& kernel) const;
    [[nodiscard]] std::string explain(const kernels::Pointwise& kernel) const;

private:
    /// Times over bytes, non-decreasing, of rows of one width. Points [first, first + count) of the table.
    struct Width {
        std::uint64_t cols;
        std::size_t first;
        Curve seconds, half_width;
    };
    struct Lookup {
        const PointwiseTable* table;
        std::vector<Width> widths;  ///< ascending in cols
    };
    /// Widths below and above the kernel's, and the share of the one above.
    struct Between {
        const Width *low, *high;
        double share;
    };
    [[nodiscard]] const Lookup* lookup(const kernels::Pointwise& kernel) const;
    [[nodiscard]] static Between between(const Lookup& lookup, std::uint64_t cols);
    /// Bytes per second that the kernel cannot exceed however long it is.
    [[nodiscard]] double longest_stream(const kernels::Pointwise& kernel) const;
    [[nodiscard]] Estimate of_width(const Width& width, double bytes) const;
    static Lookup make_lookup(const PointwiseTable& table);

    double bytes_per_second_, sustained_, latency_ = 0;
    std::vector<Lookup> tables_;
};

}  // namespace orrery::calibrate
