#include "strategies/stage.hpp"

#include "models/operators.hpp"

namespace orrery::strategies {

ModelBlocks add_model_blocks(StepProgram& step, Intern& intern, const Plan& plan) {
    const models::Model model = models::build(plan.model);
    const Recompute recompute = plan.strategy.recompute;
    const ShardedLayer block = shard(model.block, plan);
    ModelBlocks blocks;
    blocks.embedding = add_blocks(step, intern, shard(model.embedding, plan), Recompute::none);
    const Recompute rest = recompute == Recompute::full ? Recompute::none : recompute;
    blocks.plain = add_blocks(step, intern, block, rest);
    blocks.recomputed = recompute == Recompute::full ? add_blocks(step, intern, block, Recompute::full) : blocks.plain;
    blocks.head = add_blocks(step, intern, shard(model.head, plan), Recompute::none);
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
            chunk.push_back(
                {again ? &blocks.recomputed : &blocks.plain, static_cast<std::int32_t>(virtual_stage * per_chunk + i)});
        }
        if (virtual_stage + 1 == strategy.pipeline * chunks)
            chunk.push_back({&blocks.head, static_cast<std::int32_t>(plan.model.layers)});
        for (const PlacedLayer& layer : chunk) {
            stage.parameters += layer.blocks->parameters;
            stage.replicated_parameters += layer.blocks->replicated_parameters;
        }
    }
    return stage;
}

}  // namespace orrery::strategies
