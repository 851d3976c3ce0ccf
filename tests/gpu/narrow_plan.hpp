// A plan whose products are in fp8.
#pragma once

#include "tests/run/small_models.hpp"

namespace orrery::run {

/// Extents of products are multiples of 16, also on two tensor ranks; heads are those whose attention tensor cores
/// take.
inline strategies::Plan narrow_plan(const models::ModelSpec& spec) {
    strategies::Plan plan = plan_of(spec);
    plan.model.layers = 2;
    plan.model.heads = 2;
    plan.model.kv_heads = spec.kv_heads / 2;
    plan.model.hidden = 2 * 64;
    plan.model.head_dim = 64;
    plan.model.ffn = 3 * 64;
    plan.training.seq = 16;
    if (plan.model.max_positions > 0) plan.model.max_positions = 16;
    plan.training.precision = {kernels::Dtype::fp8, kernels::Dtype::fp32};
    plan.training.fp8_recipe = strategies::Fp8Recipe::tensorwise;
    plan.training.software = hardware::Software::orrery;
    return plan;
}

/// At fast()'s rate weights this wide diverge.
inline RunSettings gentle() {
    RunSettings settings = fast();
    settings.adam.rate = 5e-4;
    return settings;
}

}  // namespace orrery::run
