// Memory-bound kernels on the CPU: one function a kind, in the files named after what they compute.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/kernel.hpp"
#include "kernels/settings.hpp"

namespace orrery::kernels::cpu {

/// The rows of a launch of which a block is at hand.
struct Whole {
    std::uint64_t first_row = 0;  ///< of the block
    std::uint64_t rows = 0;       ///< of the launch; 0: the block is all of it
};

/// Operands of a launch, in the order of operands(kernel), and its settings.
class Memory {
public:
    Memory(std::span<void* const> pointers, const Settings& settings, Whole whole = {})
        : pointers_(pointers), settings_(settings), whole_(whole) {}
    [[nodiscard]] float* operator[](std::size_t i) const { return static_cast<float*>(pointers_[i]); }
    template <class T>
    [[nodiscard]] T* as(std::size_t i) const {
        return static_cast<T*>(pointers_[i]);
    }
    [[nodiscard]] const Settings& settings() const { return settings_; }
    [[nodiscard]] std::uint64_t first_row() const { return whole_.first_row; }
    [[nodiscard]] std::uint64_t all_rows(const Pointwise& p) const { return whole_.rows != 0 ? whole_.rows : p.rows; }

private:
    std::span<void* const> pointers_;
    const Settings& settings_;
    Whole whole_;
};

/// Runs on the OpenMP threads of the calling thread. The kernel's dtype is fp32 or bf16, and settings.result, if it is
/// given, fp32 or that dtype.
void run_pointwise(const Pointwise& p, const Memory& memory);

using Run = void (*)(const Pointwise& p, const Memory& memory);

/// Copies, sums of rows at addresses that tokens decide, and what reads or writes fp32 anyway: in either format.
void run_embedding(const Pointwise& p, const Memory& memory);
void run_embedding_backward(const Pointwise& p, const Memory& memory);
void run_transpose(const Pointwise& p, const Memory& memory);
void run_head_copies(const Pointwise& p, const Memory& memory);
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
void run_log_add_exp(const Pointwise& p, const Memory& memory);
void run_softmax_merge(const Pointwise& p, const Memory& memory);

/// fp32 alone; half.hpp runs them on blocks of rows of other formats.

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
void run_relu(const Pointwise& p, const Memory& memory);
void run_relu_backward(const Pointwise& p, const Memory& memory);
void run_dropout(const Pointwise& p, const Memory& memory);
void run_dropout_backward(const Pointwise& p, const Memory& memory);
void run_bias_dropout_add(const Pointwise& p, const Memory& memory);
void run_add(const Pointwise& p, const Memory& memory);
void run_scale(const Pointwise& p, const Memory& memory);
void run_rope(const Pointwise& p, const Memory& memory);
void run_cross_entropy(const Pointwise& p, const Memory& memory);
void run_cross_entropy_backward(const Pointwise& p, const Memory& memory);
void run_cross_entropy_maximum(const Pointwise& p, const Memory& memory);
void run_cross_entropy_part(const Pointwise& p, const Memory& memory);
void run_cross_entropy_part_backward(const Pointwise& p, const Memory& memory);
void run_bias_gradient(const Pointwise& p, const Memory& memory);

}  // namespace orrery::kernels::cpu
