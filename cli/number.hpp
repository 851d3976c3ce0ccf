// Numbers that options take.
#pragma once

#include <CLI/CLI.hpp>

namespace orrery::cli {

/// As CLI::Range, which takes what is no number ("nan") for one of its own.
CLI::Validator number_between(double least, double most);

}  // namespace orrery::cli
