// Which layer, phase and operator of the training a kernel belongs to.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "doors/trace/events.hpp"

namespace orrery::doors::trace {

/// In the words of a step program (strategies/step_program.hpp), which calls the gradients' collectives a phase too.
enum class Phase : std::uint8_t { forward, recompute, backward, optimizer };
std::string_view name(Phase phase);

/// What a kernel does, as report/operation.hpp tells operations apart.
enum class Kind : std::uint8_t { gemm, attention, memory_bound, communication, copy };
std::string_view name(Kind kind);

struct Origin {
    std::int32_t layer = -1;  ///< as annotations and modules number them; -1: in none
    Phase phase = Phase::forward;
    std::uint32_t product = none;  ///< index into Trace::host: the innermost product of matrices around the launch
    bool attention = false;        ///< launched by an operator of attention
    std::int64_t sequence = -1;    ///< of the backward operator around the launch; -1: there is none
    std::int64_t launched = 0;     ///< ns; the kernel's begin where the trace has no launch of it
};

/// One for each Trace::device. A kernel belongs to the operators, modules (with_modules or with_stack) and annotations
/// that its launch lies in; a backward operator to the layer of the forward one with its sequence number.
std::vector<Origin> origins(const Trace& trace);

/// By the name of the kernel first, then by the operator that launched it.
Kind kind_of(const DeviceSpan& span, std::string_view kernel, const Origin& origin);

/// The number of a layer in the name of a module ("nn.Module: LlamaDecoderLayer_3") or an annotation ("layer 3",
/// "transformer.h.3", "model.layers.3"); -1 in others. Classes whose name ends in Layer or Block are layers.
std::int32_t layer_in(std::string_view name);

}  // namespace orrery::doors::trace
