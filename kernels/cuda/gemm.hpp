// Matrix products by cuBLASLt, one plan a shape.
#pragma once

#include <cublasLt.h>

#include <map>
#include <memory>
#include <span>
#include <tuple>

#include "kernels/cuda/place.hpp"
#include "kernels/kernel.hpp"
#include "kernels/settings.hpp"

namespace orrery::kernels::cuda {

/// Products in fp32, tf32 (fp32 in memory), fp16, bf16 and fp8 (e4m3, a of gradients e5m2; result bf16 or fp32),
/// accumulated in fp32.
class GemmLibrary {
public:
    /// capability: 10 major + minor of the GPU. candidates: how many algorithms of cuBLASLt's heuristic are timed when
    /// a shape is first launched; 1 takes the heuristic's first, as PyTorch does.
    GemmLibrary(int capability, int candidates);
    ~GemmLibrary();
    GemmLibrary(const GemmLibrary&) = delete;
    GemmLibrary& operator=(const GemmLibrary&) = delete;

    /// fp8: from capability 8.9 on, extents that are multiples of 16, and the forward layout alone: it is the only one
    /// cuBLASLt offers on Hopper, and training transposes the operands of the other passes beforehand.
    [[nodiscard]] bool supports(const Gemm& gemm) const;

    /// operands: a, b, c, in fp8 scales. Of the settings: accumulate, bias, result, heads (without accumulation and
    /// bias, not in fp8) and, in fp8, narrow.
    void launch(const Place& place, const Gemm& gemm, std::span<void* const> operands, const Settings& settings);

    /// "13.0.2".
    [[nodiscard]] static std::string version();

private:
    struct Plan;
    /// Formats of the operands and of the result, whether a is a gradient, the shape, whether it accumulates and adds a
    /// bias, heads.
    using Key = std::tuple<Dtype, Dtype, bool, GemmPass, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                           bool, bool, std::uint64_t, std::uint64_t, std::uint32_t>;

    Plan& plan_for(const Place& place, const Gemm& gemm, std::span<void* const> operands, const Settings& settings);
    void launch_heads(const Place& place, const Gemm& gemm, std::span<void* const> operands, const Settings& settings);
    void choose(Plan& plan, const Place& place, const Gemm& gemm, std::span<void* const> operands,
                const Settings& settings) const;
    cublasStatus_t run(const Plan& plan, const cublasLtMatmulAlgo_t& algorithm, const Place& place,
                       std::span<void* const> operands, bool accumulate) const;

    int capability_, candidates_;
    cublasLtHandle_t handle_ = nullptr;
    void* one_ = nullptr;  ///< in device memory: the scales of fp8
    std::map<Key, std::unique_ptr<Plan>> plans_;
};

}  // namespace orrery::kernels::cuda
