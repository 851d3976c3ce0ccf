#include "strategies/plan_keys.hpp"

#include "documents/fields.hpp"
#include "models/operators.hpp"
#include "strategies/plan_fields.hpp"

namespace orrery::strategies {

void check_keys(const Plan& plan) {
    Strategy strategy = plan.strategy;
    // Files may ask for buckets of 1 MB and more; what smaller ones cost in operations small models can afford.
    if (strategy.bucket_bytes > 0) strategy.bucket_bytes = Strategy{}.bucket_bytes;
    documents::check_fields(strategy_fields(), strategy, "/strategy");
    documents::check_fields(training_fields(), plan.training, "/training");
    models::validate(plan.model);
}

}  // namespace orrery::strategies
