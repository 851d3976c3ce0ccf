// Fused attention by cuDNN, one plan a shape: what kernels of our own reach a quarter to a half of (tests/gpu).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "kernels/cuda/cudnn_graph.hpp"
#include "kernels/cuda/place.hpp"
#include "kernels/kernel.hpp"
#include "kernels/settings.hpp"

namespace orrery::kernels::cuda {

/// Attention in fp16 and bf16 without a dropout, whose masks are drawn as the other devices draw them. Its gradients
/// are the same bytes in every run: those of the queries are not added atomically. That takes memory for all scores at
/// once, so that backward passes go over parts of a batch, or of its heads.
class CudnnAttention {
public:
    /// NVIDIA's own limit of the memory for scores (cudnn-frontend, scaled_dot_product_flash_attention.h,
    /// CUDNN_FRONTEND_ATTN_DP_WORKSPACE_LIMIT).
    static constexpr std::uint64_t most_scores = 256U << 20U;

    /// capability: 10 major + minor of the current GPU. most: bytes of scores that a part of a backward pass may have.
    CudnnAttention(const cudnn::Api& api, int capability, std::uint64_t most = most_scores);
    ~CudnnAttention();
    CudnnAttention(const CudnnAttention&) = delete;
    CudnnAttention& operator=(const CudnnAttention&) = delete;

    struct Plan;
    /// How this cuDNN runs it on this GPU; null: it has no engine for it, or takes no such graph. A shape's first
    /// question builds its plan, which may take a second.
    [[nodiscard]] const Plan* plan_for(const Attention& kernel, const Settings& settings);
    /// Why the last shape that was asked for first and has no plan has none, in cuDNN's words.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }
    [[nodiscard]] static std::uint64_t scratch_bytes(const Plan& plan);
    void launch(const Place& place, const Plan& plan, std::span<void* const> operands);

    /// "9.19.0".
    [[nodiscard]] std::string version() const;

private:
    /// Format, pass, mask, batch, seq, heads, kv_heads, head_dim, row_stride.
    using Key = std::tuple<Dtype, bool, bool, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                           std::uint64_t>;

    [[nodiscard]] std::unique_ptr<Plan> planned(const Attention& kernel, const Settings& settings);
    /// Whether this version is to be asked.
    [[nodiscard]] bool is_known(const Attention& kernel, const Settings& settings) const;

    const cudnn::Api* api_;
    int capability_;
    std::uint64_t most_scores_;
    std::size_t version_;
    cudnn::Handle handle_ = nullptr;
    std::map<Key, std::unique_ptr<Plan>> plans_;  ///< null: there is none
    std::string refusal_;
};

}  // namespace orrery::kernels::cuda
