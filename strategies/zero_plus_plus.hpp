// ZeRO++ (Wang et al. 2023, arXiv:2306.10209): ZeRO-3 whose ranks move fewer bytes, as DeepSpeed runs it (2025:
// runtime/zero/partition_parameters.py, runtime/comm/coalesced_collectives.py, csrc/quantization).
//
// qwZ: a rank quantizes its part of what is gathered (a byte a number, and an fp32 scale for each block of some
// thousands), parts and scales are gathered, and the whole is dequantized. hpZ: behind its first use in a step a
// layer's weights are kept in parts among the ranks of a node, from which all later uses of the step gather them; the
// update makes them stale. qgZ: each matrix's gradient is quantized to four bits (blocks as long as the matrix's
// shorter side), exchanged within the node, dequantized, summed and quantized again by one kernel, exchanged across
// nodes, dequantized and averaged; vectors are scattered as ever. All of this stands on the lane of data ranks.
#pragma once

#include <cstdint>
#include <span>

#include "strategies/intern.hpp"
#include "strategies/parameter_shape.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Throws Error where ZeRO++ does not go with the rest of the plan.
void check_zero_plus_plus(const Plan& plan);

/// Whether any of the three is on; a step of it is priced, and cannot be executed.
inline bool is_zero_plus_plus(const Strategy& strategy) {
    return strategy.quantized_weights || strategy.secondary_partition > 1 || strategy.quantized_gradients;
}

/// Whether later gathers of a step come from a secondary partition, and whether gradients are quantized: in one node
/// they are scattered as ever (runtime/zero/stage3.py, __avg_scatter_grads).
bool keeps_secondary(const Plan& plan);
bool quantizes_gradients(const Plan& plan);

/// Ranks among which a secondary partition lies, and their axes: all that share where there is one node.
AxisSet secondary_group(const Plan& plan);

/// Bytes of a rank's secondary partition of so many bytes of weights.
std::uint64_t secondary_bytes(const Plan& plan, std::uint64_t weights);

/// The kernel that copies so many bytes.
kernels::Kernel copying(std::uint64_t bytes);

/// Blocks of so many numbers that a rank quantizes to int8, each with a scale: CUDAQuantizer.quantize, of numbers
/// filled up to a multiple of eight.
std::uint64_t blocks_of_weights(std::uint64_t numbers);

/// Writes a gather of weights, of which the group's ranks have equal parts.
class QuantizedGather {
public:
    QuantizedGather(const Plan& plan, AxisSet group, Builder& builder, Intern& intern)
        : ranks_(plan.mesh().group_size(group)), group_(group), builder_(builder), intern_(intern) {}

    /// Of so many numbers of two bytes, into `whole`, behind `waits`.
    void write(const Label& label, std::uint64_t numbers, std::span<const BufferId> waits, BufferId whole);

private:
    std::uint64_t ranks_;
    AxisSet group_;
    Builder& builder_;
    Intern& intern_;
};

/// Writes the exchange of one parameter's 16-bit gradient behind `formed`; what says that it has ended.
class QuantizedExchange {
public:
    QuantizedExchange(const Plan& plan, Builder& builder, Intern& intern);
    BufferId write(const ParameterShape& parameter, BufferId formed);

private:
    BufferId plain(std::uint64_t numbers, BufferId formed);
    BufferId kernel(const char* name, std::uint64_t moved, BufferId read, std::uint64_t left);
    /// Of four-bit numbers, and of their scales.
    BufferId exchange(AxisSet group, std::uint64_t numbers, std::uint64_t scales, BufferId sent);
    BufferId collective(kernels::CollectiveKind kind, AxisSet group, std::uint64_t bytes, BufferId sent,
                        std::uint64_t arrives);

    AxisSet node_, across_, all_;
    std::uint64_t local_, nodes_;
    Builder& builder_;
    Intern& intern_;
};

}  // namespace orrery::strategies
