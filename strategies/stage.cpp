#include "strategies/stage.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "strategies/schedule/schedule.hpp"
#include "strategies/stage_split.hpp"

namespace orrery::strategies {

namespace {

using models::Part;

/// Nodes of a model's parts: [0, body) read the data, [body, output) are divided, the rest ends in losses.
struct Parts {
    explicit Parts(const models::Model& model) {
        const auto begin = [&](Part part) {
            return static_cast<std::uint32_t>(
                std::ranges::find_if(model.nodes,
                                     [&](const models::Node& n) { return model.layers[n.layer].part >= part; }) -
                model.nodes.begin());
        };
        body = begin(Part::body);
        output = begin(Part::further);
        end = static_cast<std::uint32_t>(model.nodes.size());
    }
    std::uint32_t body, output, end;
};

/// Whether a layer is one of those that recomputation is about.
bool repeats(const models::Layer& layer) {
    return !layer.frozen && (layer.part == Part::body || layer.part == Part::further);
}
bool runs_again(const models::Layer& layer, const Strategy& strategy) {
    return repeats(layer) && strategy.recompute == Recompute::full;
}

/// A type of its own, by name and with `mark`, for each type of the nodes that `among` accepts.
template <class Among>
void set_apart(models::Model& model, const char* name, bool models::Layer::*mark, Among among) {
    std::map<std::uint32_t, std::uint32_t> apart;  // by type
    for (std::uint32_t node = 0; node < model.nodes.size(); ++node) {
        if (!among(node)) continue;
        const auto [place, fresh] = apart.try_emplace(model.nodes[node].layer, model.layers.size());
        if (fresh) {
            models::Layer layer = model.layers[model.nodes[node].layer];
            layer.name += name;
            layer.*mark = true;
            model.layers.push_back(std::move(layer));
        }
        model.nodes[node].layer = place->second;
    }
}

/// Those layers of the body's ends whose products stay in 16 bits.
void keep_ends_wide(models::Model& model, const Training& training) {
    if (!is_narrow(training.precision.compute)) return;
    const Parts parts(model);
    const std::uint32_t first = std::min(parts.output, parts.body + training.first_layers_in_bf16),
                        last =
                            std::max(parts.body, parts.output - std::min(parts.output, training.last_layers_in_bf16));
    set_apart(model, " in 16 bits", &models::Layer::in_16_bits, [&](std::uint32_t node) {
        return node >= parts.body && node < parts.output && (node < first || node >= last);
    });
}

void freeze(models::Model& model, const Training& training) {
    if (training.frozen_layers == 0) return;
    const Parts parts(model);
    set_apart(model, ", frozen", &models::Layer::frozen,
              [&](std::uint32_t node) { return node < parts.body + training.frozen_layers; });
}

/// Of each two types of the body's layers.
void add_pairs(StepProgram& step, Intern& intern, const Plan& plan, ModelBlocks& blocks) {
    std::vector<std::pair<ShardedLayer, const LayerBlocks*>> body;
    for (std::size_t type = 0; type < blocks.types.size(); ++type)
        if (const models::Layer& layer = blocks.model.layers[type]; layer.part == Part::body)
            body.emplace_back(shard(layer, plan), &blocks.types[type].plain);
    const auto paired = [&](const auto& one) { return PairedLayer{&one.first, one.second, plan.strategy.again()}; };
    for (const auto& forward : body)
        for (const auto& backward : body) add_pair(step, intern, paired(forward), paired(backward), blocks.pairs);
}

void add_casts(TypeBlocks& type, Intern& intern, std::vector<NarrowWeight> weights, const Plan& plan) {
    for (const NarrowWeight& weight : weights)
        for (WeightCast& cast : weight_casts(plan, weight))
            type.plain.casts.push_back({intern.kernel(cast.kernel), std::move(cast.takes)});
    type.recomputed.casts = type.plain.casts;
    type.plain.narrow = type.recomputed.narrow = std::move(weights);
}

}  // namespace

const TypeBlocks& ModelBlocks::of(std::string_view layer) const {
    return types[static_cast<std::size_t>(&model.layer(layer) - model.layers.data())];
}

models::Model model_of(const Plan& plan) {
    models::Model model = models::build(plan.model);
    keep_ends_wide(model, plan.training);
    freeze(model, plan.training);
    return model;
}

ModelBlocks add_model_blocks(StepProgram& step, Intern& intern, const Plan& plan) {
    ModelBlocks blocks{.model = model_of(plan)};
    const Recompute recompute = plan.strategy.recompute;
    const Backwards backwards = schedule_of(plan.strategy.schedule).backwards;
    const Again rest = recompute == Recompute::full ? Again(Recompute::none) : plan.strategy.again();
    for (const models::Layer& layer : blocks.model.layers) {
        const ShardedLayer sharded = shard(layer, plan);
        TypeBlocks& type = blocks.types.emplace_back();
        type.plain = add_blocks(step, intern, sharded, repeats(layer) ? rest : Again(Recompute::none), backwards);
        type.recomputed = runs_again(layer, plan.strategy)
                              ? add_blocks(step, intern, sharded, plan.strategy.again(), backwards)
                              : type.plain;
        type.plain.shapes = type.recomputed.shapes = parameter_shapes(sharded, plan);
        add_casts(type, intern, narrow_weights(sharded), plan);
    }
    if (plan.strategy.overlap_expert_exchanges) add_pairs(step, intern, plan, blocks);
    blocks.word_embedding_parameters =
        plan.padded_vocab() * plan.model.hidden / (plan.strategy.tensor / plan.tensor_grid().copies());
    return blocks;
}

std::uint64_t Stage::narrow_of(bool experts, bool trained) const {
    std::uint64_t sum = 0;
    for (const auto& chunk : chunks)
        for (const PlacedLayer& layer : chunk) sum += layer.blocks->narrow_of(experts, trained);
    return sum;
}

Stage place_layers(const ModelBlocks& blocks, const Plan& plan, std::uint32_t index) {
    const Strategy& strategy = plan.strategy;
    const Parts parts(blocks.model);
    const PipelineShape shape = plan.pipeline_shape();
    const std::uint32_t chunks = shape.chunks, last = shape.virtual_stages() - 1;
    Stage stage;
    stage.index = index;
    stage.chunks.resize(chunks);
    for (std::uint32_t c = 0; c < chunks; ++c) {
        auto& chunk = stage.chunks[c];
        const std::uint32_t virtual_stage = shape.virtual_stage(c, index);
        const LayerRange own = layers_of(plan, parts.output - parts.body, virtual_stage);
        const std::uint32_t first = parts.body + own.first;
        for (std::uint32_t node = virtual_stage == 0 ? 0 : first;
             node < (virtual_stage == last ? parts.end : first + own.count); ++node) {
            const std::uint32_t layer = blocks.model.nodes[node].layer;
            const TypeBlocks& type = blocks.types[layer];
            const bool again = strategy.recompute_num_layers == 0 || node < first + strategy.recompute_num_layers;
            chunk.push_back({again ? &type.recomputed : &type.plain,
                             static_cast<std::int32_t>(node) - static_cast<std::int32_t>(parts.body),
                             again && runs_again(blocks.model.layers[layer], strategy)});
        }
        for (const PlacedLayer& layer : chunk) {
            stage.counts += layer.blocks->counts;
            const std::uint32_t experts = strategy.split_classes > 1 ? 1 : plan.rank_experts(plan.model.experts);
            stage.tensors += layer.blocks->tensors + experts * layer.blocks->expert_tensors;
        }
    }
    return stage;
}

}  // namespace orrery::strategies
