// The memory-bound kernels of a GPU. Each takes the operands that kernels/operands.hpp lists for its kind.
#pragma once

#include <span>

#include "kernels/cuda/place.hpp"
#include "kernels/kernel.hpp"
#include "kernels/settings.hpp"

namespace orrery::kernels::cuda {

/// Operands of a launch, in the order of operands(kernel), and its settings.
class Operands {
public:
    Operands(std::span<void* const> pointers, const Settings& settings) : pointers_(pointers), settings_(&settings) {}
    [[nodiscard]] void* operator[](std::size_t i) const { return pointers_[i]; }
    [[nodiscard]] const Settings& settings() const { return *settings_; }

private:
    std::span<void* const> pointers_;
    const Settings* settings_;
};

/// Calls f with a value of the element type of sums that outlive a micro-batch (Settings::result): float, or T.
template <class T, class F>
void with_result(const Settings& settings, F f) {
    if (settings.result == Dtype::fp32)
        f(float{});
    else
        f(T{});
}

void launch_norm(const Place& place, const Pointwise& kernel, Operands operands);
void launch_norm_backward(const Place& place, const Pointwise& kernel, Operands operands);
void launch_softmax(const Place& place, const Pointwise& kernel, Operands operands);
void launch_softmax_merge(const Place& place, const Pointwise& kernel, Operands operands);
void launch_cross_entropy(const Place& place, const Pointwise& kernel, Operands operands);
void launch_cross_entropy_part(const Place& place, const Pointwise& kernel, Operands operands);
void launch_activation(const Place& place, const Pointwise& kernel, Operands operands);
void launch_dropout(const Place& place, const Pointwise& kernel, Operands operands);
void launch_elementwise(const Place& place, const Pointwise& kernel, Operands operands);
void launch_rope(const Place& place, const Pointwise& kernel, Operands operands);
void launch_embedding(const Place& place, const Pointwise& kernel, Operands operands);
void launch_transpose(const Place& place, const Pointwise& kernel, Operands operands);
void launch_head_copies(const Place& place, const Pointwise& kernel, Operands operands);
void launch_narrow_cast(const Place& place, const Pointwise& kernel, Operands operands);
void launch_adam(const Place& place, const Pointwise& kernel, Operands operands);
void launch_moe(const Place& place, const Pointwise& kernel, Operands operands);
void launch_moe_gate_backward(const Place& place, const Pointwise& kernel, Operands operands);
void launch_unpermute_backward(const Place& place, const Pointwise& kernel, Operands operands);
void launch_bias_gradient(const Place& place, const Pointwise& kernel, Operands operands);
void launch_sum_of_squares(const Place& place, const Pointwise& kernel, Operands operands);

/// out[c] = sum over rows of values[rows, cols], always in the same order, in `format` (fp32, fp16 or bf16);
/// accumulate: added to what is there.
void sum_columns(const Place& place, const float* values, std::uint64_t rows, std::uint64_t cols, Dtype format,
                 void* out, bool accumulate);

/// Whether launch_pointwise runs it: every kind in fp32, tf32 (as fp32), fp16 and bf16, below 2^32 - 2^16 columns.
bool supports(const Pointwise& kernel);
/// Scratch that launch_pointwise uses.
std::uint64_t scratch_bytes(const Pointwise& kernel, const Settings& settings, std::uint32_t multiprocessors);
void launch_pointwise(const Place& place, const Pointwise& kernel, Operands operands);

}  // namespace orrery::kernels::cuda
