// Which rows and columns of a layer's parameters a rank holds.
#pragma once

#include <string>

#include "run/parameters.hpp"

namespace orrery::run {

/// The slice of one parameter at a place of the mesh. prefix: what makes its name the model's ("layer.3.").
Slice slice_of(const strategies::Parameter& parameter, const Place& place, const std::string& prefix);

}  // namespace orrery::run
