// What a scenario needs, asked of a person.
#pragma once

#include <iosfwd>

#include "scenarios/usual_keys.hpp"

namespace orrery::cli {

/// Asks for a model, a cluster, its GPUs, how they are divided and the batch; an empty answer takes what stands in
/// brackets, a wrong one is asked for again with what is wrong. Throws Error where the answers end too early.
void ask(scenarios::UsualKeys& keys, std::istream& in, std::ostream& out);

}  // namespace orrery::cli
