// Products of matrices among the operators of PyTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/trace/events.hpp"

namespace orrery::doors::trace {

using Extents = std::vector<std::vector<std::int64_t>>;

/// What a trace with record_shapes says of an operator.
struct Operands {
    const std::string& name;
    const Extents& dimensions;              ///< by argument
    const Extents& strides;                 ///< empty before PyTorch 2.2
    const std::vector<std::string>& types;  ///< empty where the trace has none
};

/// aten::mm, addmm, bmm, baddbmm and _scaled_mm with their shapes; nothing for others, and without shapes. aten::linear
/// and aten::matmul end in these.
std::optional<Product> product_in(const Operands& operands);

/// Whether it is one of these operators, shapes or not.
bool is_product(std::string_view name);

/// The product as a kernel of one of a linear layer's passes; nothing where its operands lie in another way.
std::optional<kernels::Gemm> kernel_of(const Product& product, kernels::GemmPass pass, kernels::Dtype dtype);

/// The type of the operands by the name of the product's kernel ("ampere_bf16_s16816gemm", "nvjet_hsh"); nothing where
/// it does not say.
std::optional<kernels::Dtype> dtype_in(std::string_view kernel);

/// What the backward product is of the forward one: its data gradient, its weight gradient; nothing where shapes leave
/// both open, or say neither.
std::optional<kernels::GemmPass> pass_of(const Product& backward, const Product& forward);

}  // namespace orrery::doors::trace
