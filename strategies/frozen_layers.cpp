#include "strategies/frozen_layers.hpp"

#include <fmt/format.h>

#include "strategies/refusal.hpp"
#include "strategies/stage_split.hpp"
#include "strategies/zero_plus_plus.hpp"

namespace orrery::strategies {

namespace {

/// Layers behind the first chunk would be trained without a message that the chunk waits for.
void check_place(const Plan& plan) {
    const std::uint32_t frozen = plan.training.frozen_layers, layers = plan.model.layers;
    if (frozen > layers)
        refuse("/training/frozen_layers", fmt::format("{} layers, but the model has {}", frozen, layers),
               fmt::format("nearest legal value: {}", layers), Source::origin_of_key);
    const PipelineShape shape = plan.pipeline_shape();
    if (shape.virtual_stages() == 1) return;
    const std::uint32_t first = layers_of(plan, layers, 0).count;
    if (frozen >= first)
        refuse("/training/frozen_layers",
               fmt::format("{} layers, but the first chunk of the pipeline has {} and one of them is to be trained",
                           frozen, first),
               first > 1 ? fmt::format("at most {}, or give the first stage more layers (pipeline_layers)", first - 1)
                         : "leave it out, or give the first stage more layers (pipeline_layers)",
               Source::not_modelled);
}

}  // namespace

void check_frozen(const Plan& plan) {
    const Training& training = plan.training;
    if (training.frozen_layers == 0) return;
    const auto refuse_beside = [](bool given, const char* what, const char* remedy,
                                  Source source = Source::not_modelled) {
        if (given) refuse("/training/frozen_layers", what, remedy, source);
    };
    refuse_beside(training.lora_rank > 0, "given beside adapters, which freeze all layers",
                  "leave it out, or lora_rank", Source::origin_of_key);
    refuse_beside(plan.model.decoder_layers > 0 || plan.model.text.layers > 0,
                  "given, but which of two stacks is frozen is not said", "leave it out");
    refuse_beside(plan.model.family == models::Family::transfo_xl,
                  "given, but frozen layers have a memory of earlier tokens", "leave it out");
    refuse_beside(plan.model.tied_embeddings, "given, but the frozen embedding's words are those of the logits",
                  "set model.tie_word_embeddings to false", Source::origin_of_key);
    refuse_beside(plan.strategy.cpu_offloading_num_layers > 0, "given, but the first layers have nothing to offload",
                  "set strategy.cpu_offloading_num_layers to 0");
    refuse_beside(plan.strategy.overlap_expert_exchanges,
                  "given, but what runs beside the backward of another micro-batch would have none",
                  "set strategy.overlap_moe_expert_parallel_comm to false");
    refuse_beside(is_zero_plus_plus(plan.strategy),
                  "given, but DeepSpeed's traces of secondary partitions are of layers that are trained",
                  "leave it out, or the keys of ZeRO++", Source::deepspeed_order);
    refuse_beside(!plan.strategy.full_sharding.reshard_after_forward,
                  "given, but weights that no backward uses would stay until the step ends",
                  "set strategy.fsdp_reshard_after_forward to true", Source::not_modelled);
    refuse_beside(plan.offloads_weights(), "given beside weights in host memory",
                  "set strategy.offload_param_device to \"none\"");
    check_place(plan);
}

}  // namespace orrery::strategies
