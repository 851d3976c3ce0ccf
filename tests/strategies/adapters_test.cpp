// Fine-tuning of low-rank adapters: what is computed, kept and reduced when the rest is frozen.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/layer_blocks.hpp"
#include "strategies/memory.hpp"
#include "strategies/narrow_weights.hpp"
#include "strategies/reruns.hpp"
#include "strategies/stage.hpp"
#include "strategies/trained_parameters.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

Plan plan_of(std::uint32_t rank, LoraTargets targets = LoraTargets::all_linear) {
    Plan plan = tiny_plan(1, 1, 2);
    plan.model = tiny_llama();
    plan.training.fused_attention = true;
    plan.training.lora_rank = rank;
    plan.training.lora_targets = targets;
    return plan;
}

ShardedLayer block(const Plan& plan) { return shard(models::build(plan.model).layer("block"), plan); }

double products(const std::vector<Piece>& pieces, std::vector<Work> Piece::*list) {
    double sum = 0;
    for (const Piece& piece : pieces)
        for (const Work& work : piece.*list)
            if (const auto* kernel = std::get_if<kernels::Kernel>(&work.what))
                if (std::holds_alternative<kernels::Gemm>(*kernel)) sum += kernels::flops(*kernel);
    return sum;
}

/// Hu et al. 2021, section 4.2: no gradients of frozen weights; an adapter of rank r has r (in + out) parameters.
TEST(Adapters, FrozenWeightsHaveNoGradients) {
    const ShardedLayer whole = block(plan_of(0)), adapted = block(plan_of(4));
    const Plan plan = plan_of(4);
    const double tokens = static_cast<double>(plan.rank_tokens());
    double inner = 0;
    const models::Model model = models::build(plan.model);
    for (const auto& op : model.layer("block").operators)
        if (const auto* linear = std::get_if<models::Linear>(&op))
            inner += 4.0 * static_cast<double>(linear->in_features + linear->out_features);
    EXPECT_EQ(static_cast<double>(adapted.counts().trained), inner);
    EXPECT_EQ(adapted.counts().frozen, whole.counts().trained);
    EXPECT_DOUBLE_EQ(products(adapted.pieces, &Piece::forward),
                     products(whole.pieces, &Piece::forward) + 2 * tokens * inner);
    EXPECT_DOUBLE_EQ(products(adapted.pieces, &Piece::backward),
                     products(whole.pieces, &Piece::backward) / 2 + 4 * tokens * inner);
}

Plan of_peft() {
    Plan plan = plan_of(4);
    plan.training.precision = {.compute = kernels::Dtype::bf16, .grad_reduce = kernels::Dtype::fp32};
    plan.training.software = hardware::Software::pytorch;
    plan.training.kernel_fusion = KernelFusion::operators;
    return plan;
}

/// Bytes that passes of these names read and write.
double moved(const ShardedLayer& layer, std::initializer_list<std::string_view> names) {
    double sum = 0;
    for (const Piece& piece : layer.pieces)
        for (const auto* list : {&piece.forward, &piece.backward})
            for (const Work& work : *list)
                if (std::ranges::find(names, work.name) != names.end()) {
                    EXPECT_TRUE(work.single) << work.name;
                    sum += kernels::bytes(std::get<kernels::Kernel>(work.what));
                }
    return sum;
}

/// 2 bytes read and 4 written, and back, of each product's input; forward and backward of that of all four. What an
/// adapter left is scaled, and so is its gradient: 4 bytes each.
TEST(Adapters, OfPeftCastTheirInputsAndScaleTheirResults) {
    Plan plan = of_peft();
    const ShardedLayer narrow = block(plan);
    plan.training.wide_adapters = true;
    const ShardedLayer wide = block(plan);
    const models::ModelSpec spec = plan.model;
    const double tokens = static_cast<double>(plan.rank_tokens());
    const double inputs = 3.0 * spec.hidden + spec.ffn;  // qkv, projection, up; down
    const auto heads = static_cast<double>((spec.heads + 2 * spec.kv_heads) * spec.head_dim);
    const double outputs = heads + 2.0 * spec.hidden + 2.0 * spec.ffn;
    EXPECT_EQ(moved(narrow, {"adapter input to fp32"}), 0);
    EXPECT_EQ(moved(wide, {"adapter input to fp32", "adapter input to 16 bits"}), tokens * inputs * 12);
    EXPECT_EQ(moved(wide, {"adapter input gradient to fp32", "adapter input gradient to 16 bits"}),
              tokens * inputs * 12);
    EXPECT_EQ(moved(wide, {"scale adapter", "scale adapter backward"}), tokens * outputs * 8);
    plan.training.kernel_fusion = KernelFusion::full;
    EXPECT_EQ(moved(block(plan), {"adapter input to fp32", "scale adapter"}), 0) << "torch.compile joins them";
    EXPECT_EQ(verify(build(of_peft())), std::vector<std::string>{});
}

/// Of queries, keys and values, gate and up one input each, with a mask where some of it is dropped.
TEST(Adapters, OfPeftKeepAnInputEach) {
    Plan plan = of_peft();
    plan.training.canonical_lora = true;
    const std::uint64_t shared = block(plan).saved_bytes();
    plan.training.wide_adapters = true;
    const std::uint64_t own = block(plan).saved_bytes();
    plan.training.lora_dropout = 0.05;
    const std::uint64_t dropped = block(plan).saved_bytes();
    const std::uint64_t tokens = plan.rank_tokens(), hidden = plan.model.hidden, ffn = plan.model.ffn;
    EXPECT_EQ(own - shared, tokens * hidden * 2 * (2 + 1)) << "two more of qkv's, one of up's";
    EXPECT_EQ(dropped - own, tokens * (hidden * (3 + 1 + 2) + ffn)) << "masks";
    EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
}

/// Whatever ranks hold of them.
TEST(Adapters, CountOnceOverTensorRanks) {
    const TrainedParameters alone = trained_parameters(plan_of(4));
    Plan split = plan_of(4);
    split.strategy.tensor = split.strategy.data = 2;
    const TrainedParameters both = trained_parameters(split);
    EXPECT_EQ(alone.trained, block(plan_of(4)).counts().trained * plan_of(4).model.layers);
    EXPECT_EQ(both.trained, alone.trained);
    EXPECT_EQ(alone.frozen, models::parameters(models::build(plan_of(4).model)));
    EXPECT_EQ(both.frozen, alone.frozen);
}

TEST(Adapters, TargetsChooseLayers) {
    const auto parameters = [](LoraTargets targets) { return block(plan_of(4, targets)).counts().trained; };
    const models::ModelSpec spec = tiny_llama();
    const std::uint64_t qkv = 4ULL * (spec.hidden + (spec.heads + 2 * spec.kv_heads) * spec.head_dim);
    EXPECT_EQ(parameters(LoraTargets::qkv), qkv);
    EXPECT_EQ(parameters(LoraTargets::attention), qkv + 4ULL * (spec.hidden + spec.heads * spec.head_dim));
    EXPECT_GT(parameters(LoraTargets::all_linear), parameters(LoraTargets::attention));
}

/// What PEFT's print_trainable_parameters() says of Llama 3 8B, all linear layers, rank 16: 41,943,040; and of Llama 2
/// 7B, queries and values, rank 8: 4,194,304.
TEST(Adapters, OfModulesOfTheirOwnAreAsManyAsPeftHas) {
    const auto trained = [](const char* name, std::uint32_t rank, LoraTargets targets, bool apart) {
        Plan plan = plan_of(rank, targets);
        plan.model = models::find(name);
        plan.training.canonical_lora = apart;
        return block(plan).counts().trained * plan.model.layers;
    };
    EXPECT_EQ(trained("llama3-8b", 16, LoraTargets::all_linear, true), 41'943'040U);
    EXPECT_EQ(trained("llama2-7b", 8, LoraTargets::query_value, false), 4'194'304U);
    EXPECT_LT(trained("llama3-8b", 16, LoraTargets::all_linear, false), 41'943'040U);
    EXPECT_EQ(trained("llama2-7b", 8, LoraTargets::query_value, true), 4'194'304U);
}

/// Three pairs of products in place of one, of the same columns together.
TEST(Adapters, OfModulesOfTheirOwnReadTheInputEach) {
    Plan plan = plan_of(4, LoraTargets::qkv);
    const auto products_of = [](const Plan& of, const char* name) {
        std::vector<std::uint32_t> columns;
        for (const Piece& piece : block(of).pieces)
            for (const Work& work : piece.forward)
                if (work.name == name)
                    columns.push_back(std::get<kernels::Gemm>(std::get<kernels::Kernel>(work.what)).n);
        return columns;
    };
    const models::ModelSpec spec = tiny_llama();
    const std::uint32_t queries = spec.heads * spec.head_dim, keys = spec.kv_heads * spec.head_dim;
    EXPECT_EQ(products_of(plan, "adapter out"), (std::vector{queries + 2 * keys}));
    plan.training.canonical_lora = true;
    EXPECT_EQ(products_of(plan, "adapter out"), (std::vector{queries, keys, keys}));
    EXPECT_EQ(products_of(plan, "adapter in"), (std::vector<std::uint32_t>{4, 4, 4}));
    plan.training.lora_targets = LoraTargets::query_value;
    EXPECT_EQ(products_of(plan, "adapter out"), (std::vector{queries, keys}));
    Plan narrow = plan;  // heads of 18 columns, of which each of four tensor ranks has some of two
    narrow.strategy.tensor = 4;
    narrow.model.heads = narrow.model.kv_heads = 8;
    narrow.model.head_dim = 18;
    EXPECT_EQ(products_of(narrow, "adapter out"), (std::vector{36U, 36U}));
    plan.training.lora_targets = LoraTargets::all_linear;
    EXPECT_EQ(products_of(plan, "adapter out"),
              (std::vector{queries, keys, keys, spec.hidden, spec.ffn, spec.ffn, spec.hidden}));
}

/// All weights lie there; gradients and states are those of adapters, and only they are reduced.
TEST(Adapters, OnlyAdaptersHaveGradientsAndStates) {
    const auto bytes = [](const Plan& plan, Keep keep) {
        const StepProgram step = build(plan);
        std::uint64_t sum = 0;
        for (const Buffer& buffer : step.programs.front().buffers)
            if (buffer.keep == keep) sum += buffer.bytes;
        return sum;
    };
    EXPECT_GT(bytes(plan_of(4), Keep::weight), bytes(plan_of(0), Keep::weight));
    EXPECT_LT(bytes(plan_of(4), Keep::optimizer), bytes(plan_of(0), Keep::optimizer) / 4);
    EXPECT_LT(bytes(plan_of(4), Keep::gradient), bytes(plan_of(0), Keep::gradient) / 4);
    EXPECT_LT(block(plan_of(4, LoraTargets::qkv)).saved_bytes(), block(plan_of(0)).saved_bytes());
}

/// Ranks that hold parts of a sequence gather a norm's output for the frozen product, and the adapter keeps that.
TEST(Adapters, KeepWhatWasGathered) {
    const auto kept = [](bool parts, const char* name) {
        Plan plan = plan_of(4);
        plan.strategy.tensor = 2;
        plan.strategy.sequence_parallel = parts;
        for (const Piece& piece : block(plan).pieces)
            if (piece.name == name) return piece.saved_bytes;
        return std::uint64_t{0};
    };
    for (const char* name : {"qkv", "up", "projection", "down"}) EXPECT_EQ(kept(true, name), kept(false, name)) << name;
    EXPECT_GT(kept(true, "qkv"), 0U);
}

/// A frozen projection needs no input, but attention's backward reads what it left; an adapter reads it, too.
TEST(Adapters, ResultsOfAttentionStay) {
    const auto kept = [](const Plan& plan) {
        std::uint64_t bytes = 0;
        for (const Piece& piece : block(plan).pieces)
            if (piece.name == "projection" || piece.name == "attention core") bytes += piece.saved_bytes;
        return bytes;
    };
    const std::uint64_t tokens = 128 * 2, results = 2 * tokens * 64, inner = 2 * tokens * 4;
    const std::uint64_t core = 2 * tokens * (64 + 2 * 32) + tokens * 4 * 4;
    for (const bool narrow : {false, true}) {
        const auto plan = [&](LoraTargets targets) {
            Plan of = plan_of(4, targets);
            if (!narrow) return of;
            of.training.precision = {kernels::Dtype::fp8, kernels::Dtype::fp32};
            of.training.software = hardware::Software::transformer_engine;
            return of;
        };
        EXPECT_EQ(kept(plan(LoraTargets::qkv)), core + results) << narrow;
        EXPECT_EQ(kept(plan(LoraTargets::attention)), core + results + inner) << narrow;
        const auto again = [&](LoraTargets targets) {
            Plan of = plan(targets);
            of.strategy.recompute = Recompute::selective;
            const ShardedLayer layer = block(of);
            std::uint64_t bytes = 0;
            const Reruns runs = reruns(layer, of.strategy.again().modules);
            for (std::size_t i = 0; i < layer.pieces.size(); ++i)
                if (layer.pieces[i].name == "projection" || layer.pieces[i].name == "attention core")
                    bytes += layer.pieces[i].saved_bytes - runs.dropped[i];
            return bytes;
        };
        const std::uint64_t lse = tokens * 4 * 4;
        EXPECT_EQ(again(LoraTargets::qkv), core - lse) << narrow;
        EXPECT_EQ(again(LoraTargets::attention), core - lse + results + inner) << narrow;
    }
}

TEST(Adapters, ProgramsAreSoundUnderEveryPlan) {
    for (const Schedule& schedule : schedules)
        for (const ShardingRow& row : shardings)
            for (const std::uint32_t tensor : {1U, 2U}) {
                if (schedule.asynchronous && row.kind != Sharding::none) continue;
                if (schedule.order == ChunkOrder::opposes && row.kind > Sharding::zero1) continue;
                Plan plan = tiny_plan(tensor, 2, 2);
                plan.model.tied_embeddings = !schedule.asynchronous;
                plan.training.lora_rank = 2;
                plan.strategy.schedule = schedule.kind;
                plan.strategy.virtual_pipeline = schedule.chunked ? 2 : 1;
                plan.strategy.sharding = row.kind;
                plan.strategy.sequence_parallel = tensor > 1;
                validate(plan);
                EXPECT_TRUE(verify(build(plan)).empty()) << schedule.name << ' ' << row.name;
            }
}

/// Experts are frozen with the rest, and lie shared as ever; adapters of their own are refused.
TEST(Adapters, FreezeExperts) {
    Plan plan = moe_plan(), whole = plan;
    plan.training.lora_rank = 4;
    EXPECT_EQ(refused_at(plan), "/training/lora_target_modules");
    plan.training.lora_targets = LoraTargets::attention;
    validate(plan);
    const auto block_of = [](const Plan& of) { return shard(models::build(of.model).layer("moe block"), of); };
    const ShardedLayer trained = block_of(whole), adapted = block_of(plan);
    EXPECT_GT(trained.counts().experts, 0U);
    EXPECT_EQ(adapted.counts().experts, 0U);
    EXPECT_EQ(adapted.counts().frozen_experts, trained.counts().experts);
    EXPECT_EQ(adapted.counts().frozen, trained.counts().trained);
    for (const ShardingRow& row : shardings) {
        plan.strategy.sharding = row.kind;
        EXPECT_TRUE(verify(build(plan)).empty()) << row.name;
    }
}

/// Nobody takes the gradient of a frozen embedding, with what lies behind it in its layer: nothing is kept for one.
TEST(Adapters, AFrozenEmbeddingKeepsNothing) {
    for (models::ModelSpec model : {tiny_gpt(), tiny_bert()}) {
        Plan plan = plan_of(4);
        plan.model = model;
        const ShardedLayer embedding = shard(models::build(plan.model).layer("embedding"), plan);
        EXPECT_EQ(embedding.saved_bytes(), 0U) << model.name;
        for (const Piece& piece : embedding.pieces) EXPECT_TRUE(piece.backward.empty()) << piece.name;
    }
}

/// DeepSeek's attention has no layer that makes queries, keys and values of hidden states.
TEST(Adapters, LatentAttentionHasNoLayerOfThreeToAdapt) {
    Plan plan = plan_of(4, LoraTargets::qkv);
    plan.model = latent_llama();
    EXPECT_EQ(refused_at(plan), "/training/lora_target_modules");
    plan.training.lora_targets = LoraTargets::query_value;
    EXPECT_EQ(refused_at(plan), "/training/lora_target_modules");
    plan.training.lora_targets = LoraTargets::attention;
    EXPECT_EQ(refused_at(plan), "accepted");
    EXPECT_GT(block(plan).counts().trained, 0U);
}

/// A bucket that is full before the embedding is the last.
TEST(Adapters, AFrozenEmbeddingHasNoBucket) {
    Plan plan = plan_of(4);
    plan.strategy.sharding = Sharding::zero3;
    plan.strategy.bucket_bytes = 4;  // of any parameter
    for (const auto schedule : {ScheduleKind::one_f_one_b, ScheduleKind::zb_h1}) {
        plan.strategy.schedule = schedule;
        const StepProgram step = build(plan);
        EXPECT_EQ(verify(step), std::vector<std::string>{});
        for (const Op& op : step.programs.front().ops) {
            const auto* collective = std::get_if<Collective>(&op.what);
            EXPECT_TRUE(collective == nullptr || collective->bytes > 0) << step.names[op.label.name];
        }
    }
}

/// QLoRA: 4.127 bits a parameter of the base's products, which are brought back before each.
TEST(Adapters, ABaseInFourBitsIsBroughtBackBeforeEachProduct) {
    Plan plan = plan_of(4);
    plan.training.precision.compute = kernels::Dtype::bf16;
    const ShardedLayer whole = block(plan);
    const auto weights = [](const Plan& of) {
        return memory(build(of), 0).at_peak[static_cast<std::size_t>(Keep::weight)];
    };
    const std::uint64_t in_16_bits = weights(plan);
    plan.training.base_weights = BaseWeights::nf4;
    validate(plan);
    const ShardedLayer quantized = block(plan);
    std::uint64_t elements = 0, brought = 0;
    for (std::size_t i = 0; i < whole.pieces.size(); ++i) {
        const Piece &before = whole.pieces[i], &after = quantized.pieces[i];
        EXPECT_EQ(after.counts.frozen, before.counts.frozen);
        elements += after.counts.quantized;
        if (after.counts.quantized == 0) continue;
        EXPECT_EQ(after.forward.size(), before.forward.size() + 1) << after.name;
        EXPECT_EQ(after.backward.size(), before.backward.size() + 1) << after.name;
        EXPECT_EQ(after.working_bytes, before.working_bytes + 2 * after.counts.quantized);
        brought += static_cast<std::uint64_t>(kernels::bytes(std::get<kernels::Kernel>(after.forward.front().what)));
    }
    EXPECT_EQ(elements, plan.model.hidden * (64 + 2 * 32 + 64 + 3 * 192)) << "queries, keys, values, projection, MLP";
    EXPECT_EQ(brought, elements * 5 / 2);
    EXPECT_EQ(products(whole.pieces, &Piece::forward), products(quantized.pieces, &Piece::forward));
    EXPECT_EQ(in_16_bits - weights(plan), 4 * (2 * elements - nf4_bytes(elements))) << "of four layers";
    EXPECT_NEAR(8.0 * static_cast<double>(nf4_bytes(1 << 20)) / (1 << 20), 4.127, 0.001);
    EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
    plan.training.lora_rank = 0;
    EXPECT_EQ(refused_at(plan), "/training/base_weights");
}

}  // namespace
}  // namespace orrery::strategies
