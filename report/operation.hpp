// Words for one operation of a step program.
#pragma once

#include <string>
#include <string_view>

#include "strategies/step_program.hpp"

namespace orrery::report {

/// gemm, attention, memory-bound, communication, copy, layer (a call of a block) or host.
std::string_view category(const strategies::StepProgram& step, const strategies::Op& op);

/// "gemm bf16 1x2048x6144x12288", "all_reduce over tensor", "send +1 along pipeline", "12 operations of layer forward".
std::string describe(const strategies::StepProgram& step, const strategies::Op& op);

/// Bytes that the operation moves: of device memory for a kernel, of nccl-tests' "size" for communication; 0 for
/// calls and host synchronisations.
double bytes_of(const strategies::StepProgram& step, const strategies::Op& op);

}  // namespace orrery::report
