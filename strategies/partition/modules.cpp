// Which pieces of a layer are parts of what selective recomputation names. Parts of experts are named where they are
// made.
#include <algorithm>
#include <variant>

#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

namespace {

using models::Dim;
using models::Linear;

bool has_experts(const models::Layer& layer) {
    return std::ranges::any_of(layer.operators,
                               [](const auto& op) { return std::holds_alternative<models::Experts>(op); });
}

bool has_modules(const models::Layer& layer) {
    return layer.part == models::Part::body || layer.part == models::Part::further;
}

/// From the norm of what latent attention is made of to the rotation.
bool projects_up(const models::Operator& op, const Plan& plan) {
    if (plan.model.kv_lora_rank == 0) return false;
    if (const auto* linear = std::get_if<Linear>(&op)) return linear->in == Dim::latent;
    if (const auto* norm = std::get_if<models::Norm>(&op)) return !norm->begins_branch && norm->name == "latent_norm";
    return std::holds_alternative<models::Rope>(op);
}

ModuleSet modules_of(const models::Operator& op, const models::Layer& layer, const Plan& plan) {
    if (projects_up(op, plan)) return Module::mla_up_proj;
    if (const auto* norm = std::get_if<models::Norm>(&op))
        return norm->begins_branch ? ModuleSet(Module::layernorm) : ModuleSet{};
    if (std::holds_alternative<models::Experts>(op)) return Module::moe;
    const auto* linear = std::get_if<Linear>(&op);
    const bool of_mlp = std::holds_alternative<models::Activation>(op) ||
                        (linear != nullptr && (linear->in == Dim::ffn || linear->out == Dim::ffn));
    if (!of_mlp || !has_modules(layer)) return {};
    return has_experts(layer) ? ModuleSet(Module::shared_experts) | Module::moe : ModuleSet(Module::mlp);
}

/// Linear layers on what the norm of their branch leaves, and attention on what latent attention projects.
ModuleSet taken_by(const models::Operator& op, const models::Layer& layer, const Plan& plan) {
    if (std::holds_alternative<models::AttentionCore>(op))
        return plan.model.kv_lora_rank > 0 ? ModuleSet(Module::mla_up_proj) : ModuleSet{};
    const auto* linear = std::get_if<Linear>(&op);
    const bool behind_norm = linear != nullptr && has_modules(layer) && linear->in == Dim::hidden &&
                             !linear->second_input && !plan.model.post_norm && plan.model.input_norm;
    return behind_norm ? ModuleSet(Module::layernorm) : ModuleSet{};
}

}  // namespace

void name_modules(const models::Layer& layer, const models::Operator& op, std::size_t from, LayerStream& stream) {
    for (std::size_t i = from; i < stream.layer.pieces.size(); ++i) {
        Piece& piece = stream.layer.pieces[i];
        piece.part_of |= modules_of(op, layer, stream.plan);
        piece.takes |= taken_by(op, layer, stream.plan);
    }
}

}  // namespace orrery::strategies
