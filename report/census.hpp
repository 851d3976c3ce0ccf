// How often one rank runs each distinct kernel and each distinct transfer in one step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/step.hpp"
#include "strategies/step_program.hpp"

namespace orrery::report {

struct KernelUse {
    kernels::Kernel kernel;
    std::uint64_t count = 0;
};

struct TransferUse {
    strategies::Op op;         ///< one of them: a Collective, Send, Recv or Copy
    std::uint64_t count = 0;   ///< calls unrolled
    std::uint64_t timed = 0;   ///< of them, those that have a span: of their own, or of their block
    double timed_seconds = 0;  ///< sum over those
};

struct Census {
    std::vector<KernelUse> kernels;      ///< by text
    std::vector<TransferUse> transfers;  ///< by kind, group and bytes
};

/// The operations of one role, calls unrolled. spans: of that role's program, in its order, or nullptr. blocks: of one
/// call of each (Recording::blocks); none: what runs inside calls has no times.
Census census(const strategies::StepProgram& step, std::uint32_t role, const std::vector<sim::Span>* spans,
              const std::vector<std::vector<sim::Span>>& blocks = {});

}  // namespace orrery::report
