// Tables of one device for another that has none: what its datasheet makes faster is scaled, latencies stay.
#pragma once

#include <string_view>
#include <vector>

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// The tables of `device` for one of `ratio` times the memory bandwidth, of those kinds that the profile has no table
/// of. The shortest time of a table is latency and stays; what a kernel takes beyond it shrinks with the bandwidth.
/// cache_bytes: of a second-level cache smaller than the device's, beyond which no kernel is faster than the longest
/// of all the tables; 0: it is no smaller.
void add_scaled(Profile& profile, const std::vector<PointwiseTable>& tables, std::string_view device, double ratio,
                double cache_bytes = 0);

/// The table on links of `ratio` times the rate: its shortest time is latency and stays, what a message takes beyond it
/// is the links'. why: what the ratio is, for its provenance.
void scale_links(CollectiveTable& table, double ratio, std::string_view why);

/// As a reader of the written profile will see them: four digits.
void round_times(Profile& profile);

}  // namespace orrery::calibrate
