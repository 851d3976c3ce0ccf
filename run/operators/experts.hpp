// The pieces of a layer's experts, which operators/experts.cpp puts together.
#pragma once

#include "run/operators/operator.hpp"
#include "run/operators/routing.hpp"

namespace orrery::run {

Made make_router(const std::shared_ptr<Routing>& routing, const std::string& prefix, Parameters& parameters);
/// Tokens to the experts that take them.
Made make_dispatch(const std::shared_ptr<Routing>& routing);
/// Their results back, weighed and summed by token.
Made make_combination(const std::shared_ptr<Routing>& routing);
/// One product of all of this rank's experts. up: the first, else the second.
Made make_expert_product(const Routing& routing, bool up, const std::string& prefix, const Place& place,
                         Parameters& parameters);

}  // namespace orrery::run
