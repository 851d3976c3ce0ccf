#include "strategies/stage.hpp"

#include "models/operators.hpp"
#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

ModelBlocks add_model_blocks(StepProgram& step, Intern& intern, const Plan& plan) {
    const models::Model model = models::build(plan.model);
    const Recompute recompute = plan.strategy.recompute;
    const bool split = schedule_of(plan.strategy.schedule).splits_backward;
    ModelBlocks blocks;
    blocks.embedding = add_blocks(step, intern, shard(model.embedding, plan), Recompute::none, split);
    const Recompute rest = recompute == Recompute::full ? Recompute::none : recompute;
    const auto add = [&](const models::Layer& layer, LayerBlocks& plain, LayerBlocks& recomputed) {
        const ShardedLayer block = shard(layer, plan);
        plain = add_blocks(step, intern, block, rest, split);
        recomputed = recompute == Recompute::full ? add_blocks(step, intern, block, Recompute::full, split) : plain;
    };
    const std::uint32_t moe = plan.model.moe_layers();
    if (moe < plan.model.layers) add(model.block, blocks.plain, blocks.recomputed);
    if (moe > 0) add(model.moe_block, blocks.moe_plain, blocks.moe_recomputed);
    blocks.head = add_blocks(step, intern, shard(model.head, plan), Recompute::none, split);
    blocks.word_embedding_parameters = plan.padded_vocab() / plan.strategy.tensor * plan.model.hidden;
    return blocks;
}

Stage place_layers(const ModelBlocks& blocks, const Plan& plan, std::uint32_t index) {
    const Strategy& strategy = plan.strategy;
    const std::uint32_t chunks = strategy.virtual_pipeline;
    const std::uint32_t per_chunk = plan.model.layers / (strategy.pipeline * chunks);
    Stage stage;
    stage.index = index;
    stage.chunks.resize(chunks);
    for (std::uint32_t c = 0; c < chunks; ++c) {
        auto& chunk = stage.chunks[c];
        const std::uint32_t virtual_stage = c * strategy.pipeline + index;
        if (virtual_stage == 0) chunk.push_back({&blocks.embedding, -1});
        for (std::uint32_t i = 0; i < per_chunk; ++i) {
            const bool again = strategy.recompute_num_layers == 0 || i < strategy.recompute_num_layers;
            const std::uint32_t layer = virtual_stage * per_chunk + i;
            const bool moe = plan.model.has_experts(layer);
            const LayerBlocks& plain = moe ? blocks.moe_plain : blocks.plain;
            const LayerBlocks& recomputed = moe ? blocks.moe_recomputed : blocks.recomputed;
            chunk.push_back({again ? &recomputed : &plain, static_cast<std::int32_t>(layer)});
        }
        if (virtual_stage + 1 == strategy.pipeline * chunks)
            chunk.push_back({&blocks.head, static_cast<std::int32_t>(plan.model.layers)});
        for (const PlacedLayer& layer : chunk) {
            stage.parameters += layer.blocks->parameters;
            stage.replicated_parameters += layer.blocks->replicated_parameters;
            stage.expert_parameters += layer.blocks->expert_parameters;
        }
    }
    return stage;
}

}  // namespace orrery::strategies
