#include "sim/padded_products.hpp"

#include "strategies/compiled.hpp"

namespace orrery::sim {

namespace {

constexpr std::uint32_t aligned = 8;

constexpr std::uint32_t up(std::uint32_t size) { return (size + aligned - 1) / aligned * aligned; }

}  // namespace

std::optional<PaddedProduct> padded(const kernels::Kernel& kernel, const strategies::Training& training) {
    const auto* gemm = std::get_if<kernels::Gemm>(&kernel);
    if (gemm == nullptr || !strategies::is_compiled(training) || !kernels::is_half(gemm->dtype)) return std::nullopt;
    PaddedProduct result{.product = *gemm, .copies = {}};
    for (std::uint32_t kernels::Gemm::*size : {&kernels::Gemm::m, &kernels::Gemm::n, &kernels::Gemm::k})
        result.product.*size = up(gemm->*size);
    if (result.product == *gemm) return std::nullopt;
    const auto copy = [&](std::uint32_t rows, std::uint32_t cols) {
        if (rows % aligned != 0 || cols % aligned != 0)
            result.copies.push_back(
                {kernels::PointwiseKind::scale, gemm->dtype, std::uint64_t{gemm->batch} * rows, cols});
    };
    copy(gemm->m, gemm->k);
    copy(gemm->k, gemm->n);
    return result;
}

}  // namespace orrery::sim
