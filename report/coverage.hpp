// What a profile holds: one entry a table, how far it reaches and who measured it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibrate/profile.hpp"
#include "report/records.hpp"

namespace orrery::report {

struct Coverage {
    std::string table;  ///< "gemm bf16", "all_reduce, 8 ranks"
    std::size_t points = 0;
    std::string range;                            ///< "m 64 to 32768, n 32 to 65536"; "-" without points
    const calibrate::Provenance* from = nullptr;  ///< of the profile
};

/// In the order of the profile's sections. Keeps pointers into the profile.
std::vector<Coverage> coverage(const calibrate::Profile& profile);
/// The same as a table.
Records coverage_records(const calibrate::Profile& profile);
/// Name, value, unit and origin.
Records constants_records(const calibrate::Profile& profile);
/// Suite, points, and the mean, median and 90th percentile of the relative error.
Records held_out_records(const calibrate::Profile& profile);

}  // namespace orrery::report
