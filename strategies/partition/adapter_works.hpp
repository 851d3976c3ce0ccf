// The kernels of one low-rank adapter, beside the product that it adapts.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/partition/tensor.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Works of a layer's adapters, in the format of activations, beside fp8 products too. Hugging Face's PEFT
/// (tuners/lora/layer.py, Linear.forward) casts an input to the adapter's fp32, drops some of it, lets autocast cast it
/// back for the product, scales what the adapter leaves and adds it: a kernel each where nothing joins them.
class AdapterWorks {
public:
    explicit AdapterWorks(const Plan& plan);

    /// An adapter of this rank behind a product of so many rows, of all that it takes to so many of its columns.
    void add(const kernels::Gemm& base, std::uint32_t columns, std::uint32_t rank);
    /// Whether each keeps an input of its own: what its dropout, or its cast, left.
    [[nodiscard]] bool keep_inputs() const { return drops_ || casts_; }
    /// Of such an input, with the dropout's mask; elements: rows and columns.
    [[nodiscard]] std::uint64_t input_bytes(std::uint64_t elements) const;

    [[nodiscard]] const std::vector<Work>& forward() const { return forward_; }
    [[nodiscard]] const std::vector<Work>& backward() const { return backward_; }

private:
    void take(const kernels::Gemm& base);
    void give_back(const kernels::Gemm& base);
    void weights(std::vector<Work>& list, const char* what, std::uint64_t elements, bool of_weights) const;
    void product(std::vector<Work>& list, const char* name, const kernels::Gemm& shape) const;

    kernels::Dtype dtype_;
    bool apart_;  ///< each operator is a kernel
    bool casts_, drops_;
    std::vector<Work> forward_, backward_;
};

}  // namespace orrery::strategies
