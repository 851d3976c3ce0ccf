// The text that nccl-tests prints (all_reduce_perf and its kin), as a table of collectives.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

struct NcclTests {
    CollectiveTable table;
    std::string device;  ///< of rank 0
};

/// kind: none to take it from the text ("all_reduce_perf" in a header line), else from the file's name. Ranks, nodes
/// and devices come from the header, times from the out-of-place column; half of what the in-place column differs by
/// becomes the half-width. Throws Error (file, line) for wrong results (#wrong), ranks spread unevenly over nodes,
/// bandwidths that do not belong to this kind of collective, and text of another program.
NcclTests import_nccl_tests(const std::filesystem::path& file, std::optional<kernels::CollectiveKind> kind);

/// What became of a table of the same kind, ranks and nodes.
struct Merged {
    std::vector<double> replaced;  ///< its sizes that the new table has too, in bytes
    std::size_t kept = 0;          ///< its other sizes
    std::string older;             ///< its origin; "" where there was none
};

/// Puts the table into the profile. Of one of the same kind, ranks and nodes, it replaces the sizes that both have;
/// the others stay, as a finer sweep's do.
Merged put_table(Profile& profile, CollectiveTable table);

/// A profile of this table alone, with the constants of a known GPU. Throws Error for another device.
Profile profile_of(const NcclTests& tests, const std::string& name);

}  // namespace orrery::calibrate
