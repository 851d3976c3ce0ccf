// Transformers of one stack: decoders, and BERT.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/transformer_parts.hpp"

namespace orrery::models {

namespace {

/// One type of layer. Beside layers that see all tokens those with a window are local ones (Gemma's word).
struct BlockKind {
    bool experts = false, window = false;
    bool operator==(const BlockKind&) const = default;
};

Layer block(const ModelSpec& spec, BlockKind kind) {
    const bool local = kind.window && spec.window_pattern > 0;
    Layer layer{.name = std::string(local ? "local " : "") + (kind.experts ? "moe block" : "block"),
                .inputs = {Tokens{spec.hidden}},
                .output = Tokens{spec.hidden}};
    auto& operators = layer.operators;
    if (!spec.post_norm && spec.input_norm) operators.emplace_back(norm(spec, "attention_norm", true));
    append_attention(operators, spec, kind.window);
    if (spec.output_norm) operators.emplace_back(norm(spec, "attention_output_norm"));
    if (!spec.parallel_residual) operators.emplace_back(residual(spec));
    // With a parallel residual both norms read the same input: one branch.
    if (spec.input_norm && !spec.shared_norm)
        operators.emplace_back(
            norm(spec, spec.post_norm ? "attention_norm" : "mlp_norm", !spec.post_norm && !spec.parallel_residual));
    kind.experts ? append_experts(operators, spec) : append_mlp(operators, spec);
    if (spec.output_norm) operators.emplace_back(norm(spec, "mlp_output_norm"));
    operators.emplace_back(residual(spec));
    if (spec.post_norm) operators.emplace_back(norm(spec, "mlp_norm"));
    return layer;
}

}  // namespace

/// One layer behind the other: embedding, blocks with and without experts, head.
Model build_transformer(const ModelSpec& spec) {
    Model model{.spec = spec, .layers = {embedding(spec)}, .nodes = {{.layer = 0}}};
    std::vector<BlockKind> used;
    const auto kind_of = [&](std::uint32_t i) { return BlockKind{spec.has_experts(i), spec.has_window(i)}; };
    for (std::uint32_t i = 0; i < spec.layers; ++i)
        if (std::ranges::find(used, kind_of(i)) == used.end()) used.push_back(kind_of(i));
    std::ranges::stable_sort(used, {}, [](const BlockKind& kind) { return std::pair(kind.experts, kind.window); });
    for (const BlockKind& kind : used) model.layers.push_back(block(spec, kind));
    const auto append = [&](std::uint32_t layer) {
        const auto before = static_cast<std::uint32_t>(model.nodes.size() - 1);
        model.nodes.push_back({.layer = layer, .inputs = {before}});
    };
    for (std::uint32_t i = 0; i < spec.layers; ++i)
        append(1 + static_cast<std::uint32_t>(std::ranges::find(used, kind_of(i)) - used.begin()));
    model.layers.push_back(head(spec));
    append(static_cast<std::uint32_t>(model.layers.size() - 1));
    return model;
}

}  // namespace orrery::models
