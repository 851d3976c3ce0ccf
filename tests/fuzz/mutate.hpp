// Inputs made from inputs: changed where it matters and still mostly sound, so that more than the parser is reached.
#pragma once

#include <random>
#include <string>

#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

using Random = std::mt19937_64;

/// One to four changes. What has its form keeps it; others, and now and then any, have bytes changed.
std::string mutated(Form form, const std::string& input, Random& random);

/// `into` with a part of `from` in the place of one of its own.
std::string spliced(Form form, const std::string& into, const std::string& from, Random& random);

/// Some bytes changed, inserted, removed or repeated.
std::string with_other_bytes(std::string input, Random& random);

}  // namespace orrery::fuzz
