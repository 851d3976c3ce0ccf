// Memory-bound kernels on the CPU, fp32: one function a kind, in the files named after what they compute.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/kernel.hpp"
#include "kernels/settings.hpp"

namespace orrery::kernels::cpu {

/// Operands of a launch, in the order of operands(kernel), and its settings.
class Memory {
public:
    Memory(std::span<void* const> pointers, const Settings& settings) : pointers_(pointers), settings_(settings) {}
    [[nodiscard]] float* operator[](std::size_t i) const { return static_cast<float*>(pointers_[i]); }
    template <class T>
    [[nodiscard]] T* as(std::size_t i) const {
        return static_cast<T*>(pointers_[i]);
    }
    [[nodiscard]] const Settings& settings() const { return settings_; }

private:
    std::span<void* const> pointers_;
    const Settings& settings_;
};

/// Runs on the OpenMP threads of the calling thread. The kernel's dtype is fp32.
void run_pointwise(const Pointwise& p, const Memory& memory);

using Run = void (*)(const Pointwise& p, const Memory& memory);

void run_layernorm(const Pointwise& p, const Memory& memory);
void run_layernorm_backward(const Pointwise& p, const Memory& memory);
void run_rmsnorm(const Pointwise& p, const Memory& memory);
void run_rmsnorm_backward(const Pointwise& p, const Memory& memory);
void run_softmax(const Pointwise& p, const Memory& memory);
void run_softmax_backward(const Pointwise& p, const Memory& memory);
void run_gelu(const Pointwise& p, const Memory& memory);
void run_gelu_backward(const Pointwise& p, const Memory& memory);
void run_swiglu(const Pointwise& p, const Memory& memory);
void run_swiglu_backward(const Pointwise& p, const Memory& memory);
void run_dropout(const Pointwise& p, const Memory& memory);
void run_bias_dropout_add(const Pointwise& p, const Memory& memory);
void run_add(const Pointwise& p, const Memory& memory);
void run_scale(const Pointwise& p, const Memory& memory);
void run_rope(const Pointwise& p, const Memory& memory);
void run_embedding(const Pointwise& p, const Memory& memory);
void run_embedding_backward(const Pointwise& p, const Memory& memory);
void run_cross_entropy(const Pointwise& p, const Memory& memory);
void run_cross_entropy_backward(const Pointwise& p, const Memory& memory);
void run_cross_entropy_maximum(const Pointwise& p, const Memory& memory);
void run_cross_entropy_part(const Pointwise& p, const Memory& memory);
void run_cross_entropy_part_backward(const Pointwise& p, const Memory& memory);
void run_bias_gradient(const Pointwise& p, const Memory& memory);
void run_transpose(const Pointwise& p, const Memory& memory);
void run_cast(const Pointwise& p, const Memory& memory);
void run_fill(const Pointwise& p, const Memory& memory);
void run_moe_gate(const Pointwise& p, const Memory& memory);
void run_moe_gate_of_given(const Pointwise& p, const Memory& memory);
void run_moe_gate_backward(const Pointwise& p, const Memory& memory);
void run_permute(const Pointwise& p, const Memory& memory);
void run_unpermute(const Pointwise& p, const Memory& memory);
void run_unpermute_any(const Pointwise& p, const Memory& memory);  ///< any number of copies of a token
void run_unpermute_backward(const Pointwise& p, const Memory& memory);
void run_adam(const Pointwise& p, const Memory& memory);
void run_sum_of_squares(const Pointwise& p, const Memory& memory);

}  // namespace orrery::kernels::cpu
