// The fluid engine as SimGrid's CM02 counts bytes, to compare the two.
#pragma once

#include <memory>
#include <vector>

#include "sim/engine.hpp"

namespace orrery::sim {

/// A fluid engine whose flows move whole bytes of their links, rounded as make_cm02_engine() must round them. Where
/// many flows contend out of step, each end shifts those after it, and parts of a byte grow to a thousandth of a step.
std::unique_ptr<Engine> make_whole_byte_engine(std::vector<double> capacity_bytes_per_second);

}  // namespace orrery::sim
