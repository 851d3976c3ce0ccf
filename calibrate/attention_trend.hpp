// What the time of a fused attention kernel grows with: the smooth part that scattered measurements are interpolated
// around.
#pragma once

#include "calibrate/roofline.hpp"
#include "calibrate/scattered_times.hpp"

namespace orrery::calibrate {

/// The kernel that a row is the time of.
kernels::Attention shape_of(const AttentionPoint& point, const AttentionTable& table);

/// Time as a sum of what such a kernel does one after the other (FlashAttention-2, section 3.2: a block for each head
/// and 128 queries, which walks over its keys): start; the walk of the longest block, which the last of them ends with
/// (Graham, Bounds on Multiprocessing Timing Anomalies, 1969), and backward that of a block of keys over the queries of
/// its heads; products and exponentials of all pairs; rows that are read and written, and those of blocks that find no
/// multiprocessor in the first round. Of as many keys as queries, without a window.
CostTerms parts_of(const kernels::Attention& attention, const Machine& machine);

/// Whether a table is interpolated so: measured here, with points enough to fit its parts.
bool is_scattered(const AttentionTable& table);

/// A table of scattered shapes, ready for look-up: over ln of length, heads of all sequences, heads a key's head has
/// and their width, around the roofline or parts_of.
class AttentionScatter {
public:
    /// With the table's own settings where it holds some that were chosen for as many points; else chooses them.
    AttentionScatter(const AttentionTable& table, const Machine& machine);

    /// Of the table's own pass. As many keys as queries, without a window.
    [[nodiscard]] ScatteredTimes::Answer at(const kernels::Attention& attention, const Machine& machine) const;
    [[nodiscard]] ScatterSettings settings() const { return times_.settings(); }

private:
    kernels::Dtype dtype_;
    ScatteredTimes times_;
};

}  // namespace orrery::calibrate
