// Documents that are packed into a sequence, each of which attends to its own tokens alone.
#pragma once

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Throws Error (pointer "/training/document_length") where they do not fill a sequence, or where a plan or a model
/// does not go with them.
void check_documents(const Plan& plan);

}  // namespace orrery::strategies
