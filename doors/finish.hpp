// From a draft to a scenario: the cluster, what --set changes, what is missing, and the checks that a scenario must
// pass.
#pragma once

#include "doors/draft.hpp"
#include "doors/import.hpp"

namespace orrery::doors {

Imported finished(Draft draft, const Request& request);

}  // namespace orrery::doors
