#include "strategies/model_rules.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "models/operators.hpp"
#include "strategies/refusal.hpp"
#include "strategies/zero_plus_plus.hpp"

namespace orrery::strategies {

namespace {

using std::uint64_t;

/// Encoder and decoder, or an image's tower and a text's. One stage holds both: Megatron-LM divides them no longer
/// (examples/t5/pretrain_t5.py, "Pipeline parallelism is not supported for T5").
void check_stacks(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    const uint64_t decoded = plan.training.decoder_seq, tensor = strategy.tensor;
    const std::string& name = plan.model.name;
    const bool texts = plan.model.text.layers > 0;
    if (!plan.model.two_stacks()) {
        if (decoded > 0)
            refuse("/training/decoder_seq", fmt::format("{}, but {} has no second sequence", decoded, name),
                   "leave it out", Source::origin_of_key);
        return;
    }
    if (decoded == 0)
        refuse("/training/decoder_seq",
               fmt::format("{} {} a second sequence, whose tokens are not given", name, texts ? "reads" : "decodes"),
               texts ? fmt::format("give them, {} at most", plan.model.max_positions)
                     : "give them, such as 128 beside a seq_length of 512",
               texts ? Source::contrast : Source::origin_of_key);
    if (texts && decoded > plan.model.max_positions)
        refuse("/training/decoder_seq",
               fmt::format("{} tokens, but texts of {} have {} positions", decoded, name, plan.model.max_positions),
               "a shorter text", Source::contrast);
    if (!texts) models::validate_sequence(plan.model, decoded, "/training/decoder_seq");
    if (strategy.sequence_parallel && decoded % tensor != 0)
        refuse("/training/decoder_seq",
               fmt::format("{} tokens are not divisible by tensor {}, as sequence parallelism needs", decoded, tensor),
               nearest_multiples(decoded, tensor) + "; or set sequence_parallel to false", Source::megatron_mappings);
    if (strategy.pipeline > 1)
        refuse("/strategy/pipeline",
               fmt::format("{} stages, but the two {} of {} stand on one", strategy.pipeline,
                           texts ? "towers" : "stacks", name),
               "set it to 1, and tensor or data higher", texts ? Source::not_modelled : Source::megatron_t5);
    if (!texts && strategy.context > 1)
        refuse("/strategy/context",
               fmt::format("queries and keys of {} are of two sequences, which are not divided "
                           "among context ranks",
                           name),
               "set it to 1, and tensor or data higher", Source::not_modelled);
    if (plan.training.lora_rank > 0)
        refuse("/training/lora_rank", fmt::format("adapters of {}, which has two stacks", name), "leave it out",
               Source::not_modelled);
}

/// Tensor ranks have whole groups of a mixer's heads (mamba_mixer.py); context ranks exchange tokens for whole heads,
/// and whole groups or repeated ones (mamba_context_parallel.py).
void check_mixers(const Plan& plan) {
    const models::MambaSpec& mamba = plan.model.mamba;
    if (plan.model.layers_of('M') == 0) return;
    const uint64_t tensor = plan.strategy.tensor, context = plan.strategy.context;
    if (mamba.groups % tensor != 0)
        refuse("/strategy/tensor",
               fmt::format("{} does not divide the {} groups of a mixer's heads (n_groups)", tensor, mamba.groups),
               nearest_divisors(tensor, mamba.groups), Source::megatron_mixer);
    const uint64_t heads = mamba.heads / tensor, groups = mamba.groups / tensor;
    if (heads % context != 0 || (groups % context != 0 && context % groups != 0))
        refuse("/strategy/context",
               fmt::format("{} ranks do not divide the {} heads in {} groups of a tensor rank's mixers", context, heads,
                           groups),
               nearest_legal(context, heads,
                             [=](uint64_t v) { return heads % v == 0 && (groups % v == 0 || v % groups == 0); }),
               Source::megatron_mixer_context);
    if (plan.training.lora_rank > 0)
        refuse("/training/lora_rank", "adapters of state-space mixers", "leave it out", Source::not_modelled);
}

/// Transformers over patches of images. The token that stands for a whole image is one of tokens that no group of ranks
/// divides: 197 and 257 are primes.
void check_patches(const Plan& plan) {
    if (plan.model.image.patch == 0) return;
    const Strategy& strategy = plan.strategy;
    const std::string& name = plan.model.name;
    const uint64_t tokens = plan.training.seq;
    if (strategy.sequence_parallel)
        refuse(
            "/strategy/sequence_parallel",
            fmt::format("an image of {} is {} tokens, one of which stands for all: they are not divided", name, tokens),
            "set it to false", Source::not_modelled);
    if (strategy.context > 1)
        refuse(
            "/strategy/context",
            fmt::format("an image of {} is {} tokens, one of which stands for all: they are not divided", name, tokens),
            "set it to 1, and tensor or data higher", Source::not_modelled);
    if (plan.training.broadcast_data)
        refuse("/training/broadcast_data", fmt::format("true, but {} takes images, not tokens", name),
               "set it to false", Source::origin_of_key);
    if (!plan.training.cross_entropy_fusion)
        refuse("/training/cross_entropy_loss_fusion",
               fmt::format("false, but the loss of {} is not one over words", name), "set it to true",
               Source::origin_of_key);
    if (plan.training.cross_entropy != CrossEntropy::in_place)
        refuse("/training/cross_entropy", fmt::format("given, but the loss of {} is not one over words", name),
               "leave it out", Source::origin_of_key);
    if (plan.model.text.layers == 0) return;
    if (strategy.cpu_offloading_num_layers > 0)
        refuse("/strategy/cpu_offloading_num_layers",
               fmt::format("layers of {}, which has two towers, stay on the device", name), "set it to 0",
               Source::not_modelled);
    if (plan.training.widens_stream())
        refuse(plan.training.autocast ? "/training/autocast" : "/training/fp32_residual_connection",
               fmt::format("fp32 residual streams of {}, which are of two widths", name), "set it to false",
               Source::not_modelled);
}

/// Parts of a loss over words, each of as many tokens.
void check_loss_chunks(const Plan& plan) {
    constexpr const char* key = "/training/loss_chunks";
    const uint64_t chunks = plan.training.loss_chunks;
    if (chunks == 1) return;
    if (plan.model.takes_images() || plan.model.family == models::Family::transfo_xl)
        refuse(key, fmt::format("{}, but the loss of {} is not one over words", chunks, plan.model.name),
               "leave it out", Source::origin_of_key);
    if (plan.tensor_grid().divides())
        refuse(key, fmt::format("{}, but tensor ranks are a grid", chunks), "leave it out", Source::not_modelled);
    const bool decodes = plan.model.decoder_layers > 0;
    const uint64_t tokens = plan.rank_tokens(decodes ? models::Sequence::decoded : models::Sequence::only);
    if (tokens % chunks != 0)
        refuse(key, fmt::format("{} parts do not divide a rank's {} tokens", chunks, tokens),
               nearest_divisors(chunks, tokens), Source::origin_of_key);
}

void check_memory_format(const Plan& plan) {
    if (plan.training.memory_format == MemoryFormat::channels_first && !plan.model.convolves())
        refuse("/training/memory_format",
               fmt::format("channels_first is of images between convolutions, and {} has none", plan.model.name),
               "leave it out", Source::origin_of_key);
}

/// Networks over images, and Transformer-XL as its authors and NVIDIA train it, are divided among data ranks only.
void check_data_ranks_alone(const Plan& plan) {
    const bool images = plan.model.convolves(), recurrent = plan.model.family == models::Family::transfo_xl;
    if (!images && !recurrent) return;
    const Strategy& strategy = plan.strategy;
    const auto only = [&](bool holds, std::string_view key, std::string_view what, std::string_view hint) {
        if (!holds)
            refuse(key, fmt::format("{} of {}", what, plan.model.name), std::string(hint), Source::not_modelled);
    };
    only(strategy.tensor == 1, "/strategy/tensor", "tensor parallelism", "set it to 1, and data to all GPUs");
    only(strategy.context == 1, "/strategy/context", "context parallelism", "set it to 1, and data to all GPUs");
    only(strategy.pipeline == 1, "/strategy/pipeline", "a pipeline", "set it to 1, and data to all GPUs");
    only(strategy.recompute == Recompute::none, "/strategy/recompute", "recomputation", "set it to \"none\"");
    only(strategy.cpu_offloading_num_layers == 0, "/strategy/cpu_offloading_num_layers", "offloading", "set it to 0");
    only(!is_narrow(plan.training.precision.compute), "/training/precision", name(plan.training.precision.compute),
         images ? "set it to bf16 or fp16" : "set it to fp16, bf16 or fp32");
    if (!recurrent) return;
    only(strategy.sharding != Sharding::zero3, "/strategy/sharding", "sharding of weights", "set it to \"zero2\"");
    only(!plan.training.fused_attention, "/training/fused_attention", "fused attention over relative positions",
         "set it to false");
    only(plan.training.lora_rank == 0, "/training/lora_rank", "an adapter", "leave it out");
}

void check_class_split(const Plan& plan) {
    const std::uint32_t ranks = plan.strategy.split_classes;
    constexpr const char* key = "/strategy/split_classes";
    if (ranks == 1) return;
    if (!plan.model.convolves())
        refuse(key, fmt::format("{} has no classifier of images that data ranks divide", plan.model.name),
               "leave it out; tensor ranks divide a vocabulary", Source::origin_of_key);
    if (plan.strategy.data % ranks != 0)
        refuse(key, fmt::format("{} ranks do not divide the {} data ranks", ranks, plan.strategy.data),
               nearest_divisors(ranks, plan.strategy.data), Source::origin_of_key);
    if (is_zero_plus_plus(plan.strategy))
        refuse(key, fmt::format("{} beside ZeRO++, whose ranks hold all the same parameters", ranks),
               "set it to 1, or leave ZeRO++'s keys out", Source::not_modelled);
    if (plan.model.vocab < ranks)
        refuse(key, fmt::format("{} ranks divide {} classes", ranks, plan.model.vocab), "give fewer ranks",
               Source::origin_of_key);
}

}  // namespace

void check_model_division(const Plan& plan) {
    check_class_split(plan);
    check_loss_chunks(plan);
    check_stacks(plan);
    check_memory_format(plan);
    check_patches(plan);
    check_data_ranks_alone(plan);
    check_mixers(plan);
}

void check_comparison(const Plan& plan) {
    if (plan.model.text.layers == 0) return;
    if (plan.micro_batches() > 1)
        refuse("/training/global_batch_size",
               fmt::format("{} micro-batches, but images and texts of a step are compared all at once",
                           plan.micro_batches()),
               fmt::format("raise micro_batch_size to {}, or data", plan.training.global_batch / plan.strategy.data),
               Source::contrast);
}

}  // namespace orrery::strategies
