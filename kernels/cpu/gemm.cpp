#include "kernels/cpu/gemm.hpp"

#include <dnnl.h>
#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/cpu/matmul.hpp"
#include "kernels/device.hpp"

namespace orrery::kernels::cpu {

namespace {

std::string_view instructions() {
    switch (dnnl_get_effective_cpu_isa()) {
        case dnnl_cpu_isa_sse41: return "SSE4.1";
        case dnnl_cpu_isa_avx: return "AVX";
        case dnnl_cpu_isa_avx2: return "AVX2";
        case dnnl_cpu_isa_avx2_vnni: return "AVX2 VNNI";
        case dnnl_cpu_isa_avx512_core: return "AVX-512";
        case dnnl_cpu_isa_avx512_core_vnni: return "AVX-512 VNNI";
        case dnnl_cpu_isa_avx512_core_bf16: return "AVX-512 BF16";
        case dnnl_cpu_isa_avx512_core_amx: return "AMX";
        default: return "other instructions";
    }
}

}  // namespace

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, float alpha, Matrix left, Matrix right, float beta,
              float* c, std::int64_t stride) {
    const dnnl_status_t status = dnnl_sgemm(left.transposed ? 'T' : 'N', right.transposed ? 'T' : 'N', m, n, k, alpha,
                                            left.data, left.stride, right.data, right.stride, beta, c, stride);
    if (status != dnnl_success)
        throw DeviceError(
            fmt::format("oneDNN: sgemm of {}x{}x{} failed with status {}", m, n, k, static_cast<int>(status)),
            "status 1 is out of memory");
}

namespace {

ORRERY_CLONED void add_row(const float* __restrict from, float* __restrict to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
}

/// Every row of a product's c becomes its bias, or the bias is added to it.
void place_bias(const float* bias, float* c, std::uint64_t rows, std::uint64_t cols, bool accumulate) {
    for (std::uint64_t r = 0; r < rows; ++r)
        accumulate ? add_row(bias, c + r * cols, cols)
                   : static_cast<void>(std::memcpy(c + r * cols, bias, cols * sizeof(float)));
}

/// Where an operand of a product begins, and how far its rows are apart.
struct MatrixPlace {
    std::uint64_t first, stride;
};

/// Of an operand that is [rows, cols] in memory; packed: elements from one token to the next of heads inside rows.
MatrixPlace place_of(const HeadMatrices& heads, std::uint64_t packed, std::uint64_t shared, std::uint64_t product,
                     std::uint64_t rows, std::uint64_t cols) {
    if (packed == 0) return {product * rows * cols, cols};
    return {product / heads.count * rows * packed + product % heads.count / shared * cols, packed};
}

MatrixPlace left_place(const Gemm& g, const HeadMatrices& heads, std::uint64_t product) {
    const bool turned = g.pass == GemmPass::weight_gradient;
    return place_of(heads, heads.a_stride, 1, product, turned ? g.k : g.m, turned ? g.m : g.k);
}

MatrixPlace right_place(const Gemm& g, const HeadMatrices& heads, std::uint64_t product) {
    const bool turned = g.pass == GemmPass::forward;
    return place_of(heads, heads.b_stride, heads.shared, product, turned ? g.n : g.k, turned ? g.k : g.n);
}

/// The rows of a matrix, one behind the other: where they are, or in `scratch`.
const std::uint16_t* contiguous(const std::uint16_t* memory, const MatrixPlace& place, std::uint64_t elements,
                                std::uint64_t cols, std::vector<std::uint16_t>& scratch) {
    if (place.stride == cols) return memory + place.first;
    scratch.resize(elements);
    for (std::uint64_t at = 0, from = place.first; at < elements; at += cols, from += place.stride)
        std::memcpy(scratch.data() + at, memory + from, cols * sizeof(std::uint16_t));
    return scratch.data();
}

void run_half_gemm(const Gemm& g, const Memory& memory) {
    const Settings& settings = memory.settings();
    const auto [left_row, right_row, result_row] = row_elements(g);
    std::vector<std::uint16_t> left, right;
    const HalfProduct product{format_of(g.dtype),
                              g.m,
                              g.n,
                              g.k,
                              g.pass == GemmPass::weight_gradient,
                              g.pass == GemmPass::forward,
                              settings.result == Dtype::fp32,
                              settings.accumulate,
                              settings.bias != nullptr};
    const std::uint64_t m = g.m, n = g.n, k = g.k, size = product.single_result ? sizeof(float) : sizeof(std::uint16_t);
    for (std::uint64_t i = 0; i < g.batch; ++i)
        multiply(product,
                 contiguous(memory.as<std::uint16_t>(0), left_place(g, settings.heads, i), m * k, left_row, left),
                 contiguous(memory.as<std::uint16_t>(1), right_place(g, settings.heads, i), k * n, right_row, right),
                 settings.bias == nullptr ? nullptr : static_cast<const std::uint16_t*>(settings.bias) + i * n,
                 memory.as<std::byte>(2) + i * m * n * size);
}

}  // namespace

void run_gemm(const Gemm& g, const Memory& memory) {
    if (is_half(g.dtype)) return run_half_gemm(g, memory);
    const float *const a = memory[0], *const b = memory[1];
    float* const c = memory[2];
    const Settings& settings = memory.settings();
    const auto* const bias = static_cast<const float*>(settings.bias);
    const std::uint64_t m = g.m, n = g.n;
    const bool a_turned = g.pass == GemmPass::weight_gradient, b_turned = g.pass == GemmPass::forward;
    for (std::uint64_t i = 0; bias != nullptr && i < g.batch; ++i)
        place_bias(bias + i * n, c + i * m * n, m, n, settings.accumulate);
    const float beta = bias != nullptr || settings.accumulate ? 1.0f : 0.0f;
    for (std::uint64_t i = 0; i < g.batch; ++i) {
        const MatrixPlace left = left_place(g, settings.heads, i), right = right_place(g, settings.heads, i);
        multiply(g.m, g.n, g.k, 1.0f, {a + left.first, static_cast<std::int64_t>(left.stride), a_turned},
                 {b + right.first, static_cast<std::int64_t>(right.stride), b_turned}, beta, c + i * m * n, g.n);
    }
}

std::string gemm_software() {
    const dnnl_version_t* const version = dnnl_version();
    return fmt::format("oneDNN {}.{}.{} ({})", version->major, version->minor, version->patch, instructions());
}

}  // namespace orrery::kernels::cpu
