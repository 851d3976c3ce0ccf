// What `orrery collective` prints: nccl-tests' table.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "calibrate/profile.hpp"
#include "kernels/collective.hpp"
#include "report/records.hpp"
#include "sim/collective/timer.hpp"

namespace orrery::cli {

/// "8", "64K", "1M", "4G" (powers of 1024, as nccl-tests reads them) -> bytes. Throws Error.
double parse_size(const std::string& text);

/// "1M" or "1M..4G" with a factor -> the sizes of a sweep, at least one. Throws Error.
std::vector<double> parse_sizes(const std::string& text, double factor);

struct CollectiveRow {
    double bytes = 0;
    sim::CollectiveTime time;
};

struct CollectiveTable {
    std::string cluster, profile;
    kernels::CollectiveKind kind = kernels::CollectiveKind::all_reduce;
    std::uint32_t ranks = 1, nodes = 1;
    std::vector<CollectiveRow> rows;
    std::vector<calibrate::CollectiveTable> measured = {};  ///< of the kind, in the profiles of the GPUs that take part
};

/// Header and columns of nccl-tests (out of place only), the algorithm of every size and the busiest links.
std::string to_text(const CollectiveTable& table);
nlohmann::json to_json(const CollectiveTable& table);
/// A row a size.
report::Records to_records(const CollectiveTable& table);

}  // namespace orrery::cli
