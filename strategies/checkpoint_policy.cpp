#include "strategies/checkpoint_policy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include "strategies/partition/tensor.hpp"
#include "strategies/refusal.hpp"
#include "strategies/reruns.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::Gemm;

/// Products, as torch.mm and jax.lax.dot_general leave them: narrow ones leave 16 bits, in torchao (torch.mm of its own
/// tensors, float8_linear.py) as in Qwix.
std::uint64_t result_size(kernels::Dtype operands) {
    return kernels::size_of(is_narrow(operands) ? kernels::Dtype::bf16 : operands);
}
const Gemm* gemm_of(const Work& work) {
    const auto* kernel = std::get_if<kernels::Kernel>(&work.what);
    return kernel == nullptr ? nullptr : std::get_if<Gemm>(kernel);
}
std::uint64_t result_bytes(const Gemm& gemm) {
    return std::uint64_t{gemm.batch} * gemm.m * gemm.n * result_size(gemm.dtype);
}
bool is_attention(const Work& work) {
    const auto* kernel = std::get_if<kernels::Kernel>(&work.what);
    return kernel != nullptr && std::holds_alternative<kernels::Attention>(*kernel);
}

/// Names of results that are kept, and those for which nothing runs again: a norm of queries and keys needs
/// what it was given, so that their products run again though what it left is kept.
struct KeptNames {
    CheckpointNames kept, spared;
};

constexpr CheckpointNames of_rotation = CheckpointNames(CheckpointName::query_proj) | CheckpointName::key_proj;

KeptNames kept_names(const ShardedLayer& layer, CheckpointNames names) {
    const bool norms = std::ranges::any_of(
        layer.pieces, [](const Piece& piece) { return piece.name == "rope" && piece.saved_bytes > 0; });
    return {names, norms ? names.without(of_rotation) : names};
}

/// Leaves what runs again of a piece, and returns the bytes of its results that are kept. A piece all of whose products
/// are does not run: neither do a bias nor what tensor ranks bring together for it.
std::uint64_t keep_named(const Piece& piece, const KeptNames& names, std::vector<Work>& works) {
    if (piece.results.attention_bytes > 0 && names.kept.has(CheckpointName::context)) {
        std::erase_if(works, is_attention);
        return piece.results.attention_bytes;
    }
    if (piece.name == "rope" && names.spared.holds(of_rotation)) works.clear();
    const std::vector<CheckpointNames> products = names_of_products(piece);
    if (products.empty()) return 0;
    std::uint64_t bytes = 0;
    std::size_t product = 0;  // each of them may be in parts, one behind the other
    std::erase_if(works, [&](const Work& work) {
        const Gemm* gemm = gemm_of(work);
        if (gemm == nullptr) return false;
        const CheckpointNames left = products[product++ % products.size()];
        if (names.kept.holds(left)) bytes += result_bytes(*gemm);
        return names.spared.holds(left);
    });
    const auto spared = [&](CheckpointNames left) { return names.spared.holds(left); };
    if (std::ranges::all_of(products, spared)) works.clear();
    return bytes > 0 && piece.results.scattered_bytes > 0 ? piece.results.scattered_bytes : bytes;
}

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
            if (kept) bytes += result_bytes(*gemm);
            return kept;
        });
        if (results.scattered_bytes > 0 && results.sum_alone) works.clear();
        return bytes;
    }

private:
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

RunAgain run_again(const ShardedLayer& layer, KeptResults keeps, bool stops_early) {
    RunAgain again{.works = {}, .kept_bytes = std::vector<std::uint64_t>(layer.pieces.size())};
    EverySecond products;
    const KeptNames names = kept_names(layer, keeps.names);
    const std::size_t needed = stops_early ? pieces_needed(layer) : layer.pieces.size();
    for (std::size_t i = 0; i < layer.pieces.size(); ++i) {
        std::vector<Work>& works = again.works.emplace_back(layer.pieces[i].forward);
        if (keeps.policy == CheckpointPolicy::every_second_mm)
            again.kept_bytes[i] = products.keep(layer.pieces[i], works);
        if (keeps.policy == CheckpointPolicy::save_only_these_names && i < needed)
            again.kept_bytes[i] = keep_named(layer.pieces[i], names, works);
    }
    return again;
}

namespace {

constexpr const char* policy_key = "/strategy/checkpoint_policy";

void check_checkpoint_names(const Plan& plan) {
    constexpr const char* key = "/strategy/checkpoint_names";
    const std::string& names = plan.strategy.checkpoint_names;
    const bool named = plan.strategy.checkpoint_policy == CheckpointPolicy::save_only_these_names;
    const std::string some = fmt::format("write some of {}, between commas", fmt::join(checkpoint_names, ", "));
    if (named && names.empty()) refuse(key, "save_only_these_names, but no names", some, Source::origin_of_key);
    if (names.empty()) return;
    if (!checkpoint_names_in(names))
        refuse(key, fmt::format("\"{}\" names no results", names), some, Source::origin_of_key);
    if (!named)
        refuse(key, fmt::format("{}, which no policy keeps", names),
               "set checkpoint_policy to \"save_only_these_names\", or leave them out", Source::origin_of_key);
}

/// What goes to the host by name is what is kept by name, or the layer's input.
void check_offload_names(const Plan& plan) {
    constexpr const char* key = "/strategy/offload_names";
    const Strategy& strategy = plan.strategy;
    if (strategy.offload_names.empty()) return;
    const auto away = checkpoint_names_in(strategy.offload_names);
    const CheckpointNames kept = checkpoint_names_in(strategy.checkpoint_names).value_or(CheckpointNames{}) |
                                 CheckpointName::decoder_layer_input;
    if (!away || !kept.holds(*away))
        refuse(key, fmt::format("\"{}\" is not what layers keep", strategy.offload_names),
               fmt::format("write some of {}, between commas", set_to_text(kept, checkpoint_names)),
               Source::origin_of_key);
    if (strategy.cpu_offloading_num_layers == 0 || strategy.recompute != Recompute::full)
        refuse(key, fmt::format("{}, but no layer that runs again is offloaded", strategy.offload_names),
               "set cpu_offloading_num_layers, and recompute to \"full\"", Source::origin_of_key);
    if (plan.training.software != hardware::Software::tensorflow)
        refuse(key, "names are JAX's", "set training.software to \"jax\", or leave it out", Source::origin_of_key);
}

void check_every_second(const Plan& plan) {
    const auto only = [](bool holds, const std::string& otherwise, const char* remedy, Source source) {
        if (!holds) refuse(policy_key, "every_second_mm, but " + otherwise, remedy, source);
    };
    only(plan.training.software == hardware::Software::pytorch, "products are not PyTorch's own",
         "set training.software to \"pytorch\", or leave it out", Source::origin_of_key);
    only(plan.model.kv_lora_rank == 0,
         fmt::format("products of {}'s latent attention are not counted", plan.model.name), "leave it out",
         Source::not_modelled);
    only(plan.model.shared_expert_ffn == 0,
         fmt::format("products of {}'s shared experts are not counted", plan.model.name), "leave it out",
         Source::not_modelled);
}

}  // namespace

void check_checkpoint_policy(const Plan& plan) {
    check_checkpoint_names(plan);
    check_offload_names(plan);
    const CheckpointPolicy policy = plan.strategy.checkpoint_policy;
    if (policy == CheckpointPolicy::nothing) return;
    const bool every_second = policy == CheckpointPolicy::every_second_mm;
    const char* const name = every_second ? "every_second_mm" : "save_only_these_names";
    const auto only = [&](bool holds, const std::string& otherwise, const char* remedy, Source source) {
        if (!holds) refuse(policy_key, fmt::format("{}, but {}", name, otherwise), remedy, source);
    };
    only(plan.strategy.recompute == Recompute::full, "no whole layer runs again",
         "set recompute to \"full\", or leave it out", Source::origin_of_key);
    only(every_second || plan.training.software == hardware::Software::tensorflow, "names are JAX's",
         "set training.software to \"jax\", or leave it out", Source::origin_of_key);
    if (every_second) check_every_second(plan);
    only(plan.model.layers_of('M') == 0 && !plan.tensor_grid().divides(),
         fmt::format("{} has mixers, or tensor ranks are a grid", plan.model.name), "leave it out",
         Source::not_modelled);
    only(plan.training.lora_rank == 0, "products of adapters are not counted", "leave it out", Source::not_modelled);
}

}  // namespace orrery::strategies
