// The timelines of two reports for the page, rank by rank, the predicted one above the measured one.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/side.hpp"

namespace orrery::report {

/// Both documents have the operations of one program, as compare() has found; throws Error for what it does not look
/// at and that is damaged. Like timeline() for
/// web/src/parts/timeline.js, with two tracks for each rank that is shown: the first rank of each role, and of many
/// roles some. Operations that are too many for a page are put together: those of a layer, then those of a pass.
nlohmann::ordered_json paired_timeline(const Side& predicted, const Side& measured);

}  // namespace orrery::report
