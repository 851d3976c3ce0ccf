#include "doors/trace/product.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace orrery::doors::trace {

namespace {

using kernels::Dtype;
using kernels::GemmPass;

struct Operator {
    std::string_view name;
    std::size_t first;  ///< argument that holds the left matrix; the right one is the next
    bool batched;
};
/// Signatures: PyTorch, aten/src/ATen/native/native_functions.yaml.
constexpr std::array<Operator, 5> operators{{{"aten::mm", 0, false},
                                             {"aten::addmm", 1, false},
                                             {"aten::bmm", 0, true},
                                             {"aten::baddbmm", 1, true},
                                             {"aten::_scaled_mm", 0, false}}};

const Operator* find(std::string_view name) {
    const auto found = std::ranges::find(operators, name, &Operator::name);
    return found == operators.end() ? nullptr : &*found;
}

/// fp32 is what the operands are; whether tensor cores round them (tf32) the kernel's name tells.
std::optional<Dtype> dtype_of(std::string_view type) {
    constexpr std::array<std::pair<std::string_view, Dtype>, 5> types{{{"float", Dtype::fp32},
                                                                       {"c10::Half", Dtype::fp16},
                                                                       {"c10::BFloat16", Dtype::bf16},
                                                                       {"c10::Float8_e4m3fn", Dtype::fp8},
                                                                       {"c10::Float8_e5m2", Dtype::fp8}}};
    const auto found = std::ranges::find(types, type, [](const auto& row) { return row.first; });
    return found == types.end() ? std::nullopt : std::optional(found->second);
}

/// How the last two dimensions lie: 'r' row by row, 'c' column by column, ' ' otherwise.
char order_of(const std::vector<std::int64_t>& dimensions, const std::vector<std::int64_t>& strides) {
    if (strides.size() != dimensions.size()) return ' ';
    const std::size_t last = strides.size() - 1;
    if (strides[last] == 1 && strides[last - 1] >= dimensions[last]) return 'r';
    return strides[last - 1] == 1 && strides[last] >= dimensions[last - 1] ? 'c' : ' ';
}

std::optional<GemmPass> layout_of(char left, char right) {
    if (left == 'r' && right == 'c') return GemmPass::forward;
    if (left == 'r' && right == 'r') return GemmPass::data_gradient;
    if (left == 'c' && right == 'r') return GemmPass::weight_gradient;
    return std::nullopt;
}

}  // namespace

bool is_product(std::string_view name) { return find(name) != nullptr; }

std::optional<Product> product_in(const Operands& operands) {
    const Operator* const op = find(operands.name);
    const bool typed = !operands.types.empty();
    if (op == nullptr || operands.dimensions.size() < op->first + 2 || (typed && operands.types.size() < op->first + 2))
        return std::nullopt;
    const auto &left = operands.dimensions[op->first], &right = operands.dimensions[op->first + 1];
    const std::size_t dimensions = op->batched ? 3 : 2;
    const std::optional<Dtype> dtype = typed ? dtype_of(operands.types[op->first]) : std::nullopt;
    constexpr std::int64_t largest = 1 << 30;
    const auto sound = [&](std::int64_t extent) { return extent > 0 && extent <= largest; };
    if ((typed && !dtype) || left.size() != dimensions || right.size() != dimensions ||
        !std::ranges::all_of(left, sound) || !std::ranges::all_of(right, sound) ||
        left[dimensions - 1] != right[dimensions - 2] || (op->batched && left[0] != right[0]))
        return std::nullopt;
    Product product{std::nullopt,
                    false,
                    dtype,
                    op->batched ? static_cast<std::uint32_t>(left[0]) : 1,
                    static_cast<std::uint32_t>(left[dimensions - 2]),
                    static_cast<std::uint32_t>(right[dimensions - 1]),
                    static_cast<std::uint32_t>(left[dimensions - 1])};
    product.strided = operands.strides.size() >= op->first + 2;
    if (product.strided)
        product.layout =
            layout_of(order_of(left, operands.strides[op->first]), order_of(right, operands.strides[op->first + 1]));
    return product;
}

std::optional<Dtype> dtype_in(std::string_view kernel) {
    // In the order of the table: "turing_fp16_s1688gemm" is fp16, "bf16" holds f16. nvjet's letters are the types of
    // A, accumulation and output: t is bf16, h is fp16.
    constexpr std::array<std::pair<std::string_view, Dtype>, 19> words{{{"e4m3", Dtype::fp8},
                                                                        {"e5m2", Dtype::fp8},
                                                                        {"fp8", Dtype::fp8},
                                                                        {"bf16", Dtype::bf16},
                                                                        {"bfloat16", Dtype::bf16},
                                                                        {"nvjet_tst", Dtype::bf16},
                                                                        {"fp16", Dtype::fp16},
                                                                        {"f16f16", Dtype::fp16},
                                                                        {"tensorop_f16", Dtype::fp16},
                                                                        {"nvjet_hsh", Dtype::fp16},
                                                                        {"__half", Dtype::fp16},
                                                                        {"h16816", Dtype::fp16},
                                                                        {"h1688", Dtype::fp16},
                                                                        {"h884", Dtype::fp16},
                                                                        {"hgemm", Dtype::fp16},
                                                                        {"tf32", Dtype::tf32},
                                                                        {"s1688", Dtype::tf32},
                                                                        {"sgemm", Dtype::fp32},
                                                                        {"f32f32_f32f32", Dtype::fp32}}};
    for (const auto& [word, dtype] : words)
        if (kernel.find(word) != kernel.npos) return dtype;
    return std::nullopt;
}

std::optional<kernels::Gemm> kernel_of(const Product& p, GemmPass pass, Dtype dtype) {
    if (p.layout && *p.layout != pass) return std::nullopt;
    kernels::Gemm gemm{dtype, p.batch, p.rows, p.columns, p.depth, pass};
    // PyTorch forms [outputs, inputs]; here a weight gradient has m inputs and n outputs (kernels/kernel.hpp).
    if (pass == GemmPass::weight_gradient) std::swap(gemm.m, gemm.n);
    return gemm;
}

std::optional<GemmPass> pass_of(const Product& backward, const Product& forward) {
    const auto has = [&](std::uint32_t rows, std::uint32_t depth, std::uint32_t columns) {
        return backward.rows == rows && backward.depth == depth && backward.columns == columns;
    };
    const auto& f = forward;
    const bool data = has(f.rows, f.columns, f.depth);
    const bool weight = has(f.columns, f.rows, f.depth);  // [outputs, tokens] x [tokens, inputs]
    if (data == weight || backward.batch != forward.batch) return std::nullopt;
    return data ? GemmPass::data_gradient : GemmPass::weight_gradient;
}

}  // namespace orrery::doors::trace
