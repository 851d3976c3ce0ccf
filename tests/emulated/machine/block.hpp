// Runs the blocks of a launch, one after the other, the warps and lanes of each in an order drawn at random.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <string>

#include "tests/emulated/machine/device.hpp"

namespace orrery::emulated {

/// The most that a GPU of compute capability 9.0 takes (CUDA Programming Guide, Compute Capabilities).
inline constexpr std::size_t most_threads = 1024, most_shared = 227 * 1024, plain_shared = 48 * 1024;

/// Why a launch of this shape is refused; none when it is not.
std::optional<std::string> refusal(Extent blocks, Extent threads, std::size_t shared);

/// What the kernel did wrong; none when it ended well.
std::optional<std::string> run_launch(Extent blocks, Extent threads, std::size_t shared,
                                      const std::function<void()>& kernel, std::mt19937_64& random);

/// From a signal's handler, where a fiber touched memory that it may not: as fault().
bool inside_a_launch();

}  // namespace orrery::emulated
