#include "kernels/cpu/gemm.hpp"

#include <dnnl.h>
#include <fmt/format.h>

#include <cstring>

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

void run_half_gemm(const Gemm& g, const Memory& memory) {
    const Settings& settings = memory.settings();
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
        multiply(product, memory.as<std::uint16_t>(0) + i * m * k, memory.as<std::uint16_t>(1) + i * k * n,
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
    const std::uint64_t m = g.m, n = g.n, k = g.k;
    const bool a_turned = g.pass == GemmPass::weight_gradient, b_turned = g.pass == GemmPass::forward;
    for (std::uint64_t i = 0; bias != nullptr && i < g.batch; ++i)
        place_bias(bias + i * n, c + i * m * n, m, n, settings.accumulate);
    const float beta = bias != nullptr || settings.accumulate ? 1.0f : 0.0f;
    for (std::uint64_t i = 0; i < g.batch; ++i)
        multiply(g.m, g.n, g.k, 1.0f, {a + i * m * k, a_turned ? g.m : g.k, a_turned},
                 {b + i * k * n, b_turned ? g.k : g.n, b_turned}, beta, c + i * m * n, g.n);
}

std::string gemm_software() {
    const dnnl_version_t* const version = dnnl_version();
    return fmt::format("oneDNN {}.{}.{} ({})", version->major, version->minor, version->patch, instructions());
}

}  // namespace orrery::kernels::cpu
