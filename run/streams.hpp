// Streams of a device that lanes run on, and the moments around an operation.
#pragma once

#include "kernels/device.hpp"
#include "strategies/step_program.hpp"

namespace orrery::run {

/// Stream 0 of a CPU device works in the calling thread: lanes take the ones behind it.
inline kernels::Stream stream_of(strategies::Lane lane) { return static_cast<kernels::Stream>(lane) + 1; }

/// Around one operation.
struct ItemMarks {
    kernels::Device::Mark begin = 0, end = 0;
};

}  // namespace orrery::run
