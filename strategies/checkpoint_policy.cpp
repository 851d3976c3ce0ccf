#include "strategies/checkpoint_policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include "strategies/partition/tensor.hpp"
#include "strategies/refusal.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::Gemm;

/// Goes through the products of a layer as they come.
class EverySecond {
public:
    /// Leaves what runs again of a piece, and returns the bytes of what is kept.
    std::uint64_t keep(const Piece& piece, std::vector<Work>& works) {
        const Piece::Results& results = piece.results;
        std::uint64_t bytes = results.attention_bytes + results.scattered_bytes;
        if (results.attention_bytes > 0) std::erase_if(works, is_attention);
        if (results.scattered_bytes > 0) std::erase_if(works, scatters);
        if (!results.plain_products) return bytes;
        const std::size_t before = std::exchange(seen_, seen_ + results.products.size());
        std::size_t product = 0;  // each of them may be in parts, one behind the other
        std::erase_if(works, [&](const Work& work) {
            const Gemm* gemm = gemm_of(work);
            if (gemm == nullptr) return false;
            const bool kept = (before + product++ % results.products.size()) % 2 == 0;
            if (kept) bytes += std::uint64_t{gemm->m} * gemm->n * result_size(gemm->dtype);
            return kept;
        });
        if (results.scattered_bytes > 0 && results.sum_alone) works.clear();
        return bytes;
    }

private:
    /// Narrow products, which torchao has as torch.mm of its own tensors (float8_linear.py), leave 16 bits.
    static std::uint64_t result_size(kernels::Dtype operands) {
        return kernels::size_of(is_narrow(operands) ? kernels::Dtype::bf16 : operands);
    }
    static const Gemm* gemm_of(const Work& work) {
        const auto* kernel = std::get_if<kernels::Kernel>(&work.what);
        return kernel == nullptr ? nullptr : std::get_if<Gemm>(kernel);
    }
    static bool is_attention(const Work& work) {
        const auto* kernel = std::get_if<kernels::Kernel>(&work.what);
        return kernel != nullptr && std::holds_alternative<kernels::Attention>(*kernel);
    }
    static bool scatters(const Work& work) {
        const auto* collective = std::get_if<LayerCollective>(&work.what);
        return collective != nullptr && collective->kind == CollectiveKind::reduce_scatter;
    }

    std::size_t seen_ = 0;
};

}  // namespace

std::uint64_t RunAgain::all_kept_bytes() const {
    return std::accumulate(kept_bytes.begin(), kept_bytes.end(), std::uint64_t{0});
}

RunAgain run_again(const ShardedLayer& layer, CheckpointPolicy policy) {
    RunAgain again{.works = {}, .kept_bytes = std::vector<std::uint64_t>(layer.pieces.size())};
    EverySecond products;
    for (std::size_t i = 0; i < layer.pieces.size(); ++i) {
        std::vector<Work>& works = again.works.emplace_back(layer.pieces[i].forward);
        if (policy == CheckpointPolicy::every_second_mm) again.kept_bytes[i] = products.keep(layer.pieces[i], works);
    }
    return again;
}

void check_checkpoint_policy(const Plan& plan) {
    if (plan.strategy.checkpoint_policy == CheckpointPolicy::nothing) return;
    const auto only = [](bool holds, const std::string& otherwise, const char* remedy, Source source) {
        if (!holds) refuse("/strategy/checkpoint_policy", "every_second_mm, but " + otherwise, remedy, source);
    };
    only(plan.strategy.recompute == Recompute::full, "no whole layer runs again",
         "set recompute to \"full\", or leave it out", Source::origin_of_key);
    only(plan.training.software == hardware::Software::pytorch, "products are not PyTorch's own",
         "set training.software to \"pytorch\", or leave it out", Source::origin_of_key);
    only(plan.model.layers_of('M') == 0 && !plan.tensor_grid().divides(),
         fmt::format("{} has mixers, or tensor ranks are a grid", plan.model.name), "leave it out",
         Source::not_modelled);
    only(plan.model.kv_lora_rank == 0,
         fmt::format("products of {}'s latent attention are not counted", plan.model.name), "leave it out",
         Source::not_modelled);
    only(plan.model.shared_expert_ffn == 0,
         fmt::format("products of {}'s shared experts are not counted", plan.model.name), "leave it out",
         Source::not_modelled);
    only(plan.training.lora_rank == 0, "products of adapters are not counted", "leave it out", Source::not_modelled);
}

}  // namespace orrery::strategies
