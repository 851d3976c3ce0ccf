// ZeRO++: what its three parts move, keep and run, and what they do not go with.
#include "strategies/zero_plus_plus.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "models/catalog.hpp"
#include "strategies/build.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::CollectiveKind;
using Problems = std::vector<std::string>;

constexpr std::uint32_t nodes = 4, of_node = 4;

/// A Llama wide enough for scales to be small beside numbers, on 16 ranks of four nodes; one micro-batch.
Plan zero3(std::uint32_t micro_batches = 1) {
    Plan plan = tiny_plan(1, 1, nodes * of_node);
    plan.model = tiny_llama();
    plan.model.hidden = 4096;
    plan.model.head_dim = 1024;
    plan.model.ffn = 8192;
    plan.model.vocab = 32000;
    plan.training.precision = {.compute = kernels::Dtype::fp16, .grad_reduce = kernels::Dtype::fp16};
    plan.training.global_batch = plan.training.micro_batch * plan.strategy.data * micro_batches;
    plan.strategy.sharding = Sharding::zero3;
    return plan;
}

Plan quantized_weights(Plan plan = zero3()) {
    plan.strategy.quantized_weights = true;
    return plan;
}
Plan secondary(Plan plan = zero3()) {
    plan.strategy.secondary_partition = of_node;
    return plan;
}
Plan quantized_gradients(Plan plan = zero3()) {
    plan.strategy.quantized_gradients = true;
    plan.strategy.node_ranks = of_node;
    return plan;
}

template <class Each>
void each_collective(const StepProgram& step, const Each& each) {
    for (const Op& op : step.programs.front().ops)
        if (const auto* collective = std::get_if<Collective>(&op.what))
            if (op.lane == Lane::data) each(*collective, step.names[op.label.name], op.label.phase);
}

/// Bytes that a node's ranks get of others in a step, over the numbers of the parameters times two: the paper's M.
double volume(const Plan& plan) {
    validate(plan);
    const StepProgram step = build(plan);
    EXPECT_EQ(verify(step), Problems{});
    const double others = (nodes - 1.0) / nodes;
    double bytes = 0;
    each_collective(step, [&](const Collective& of, const std::string&, Phase) {
        const bool across = plan.parts_of_nodes() > 1 ? of.group.has(Axis::replica) : true;
        if (!across) return;
        const bool exchanged = of.kind == CollectiveKind::all_to_all;  // by each rank of the node with its own
        bytes += static_cast<double>(of.bytes) * others * (exchanged ? of_node : 1);
    });
    const std::uint64_t parameters = models::parameters(models::build(plan.model));
    return bytes / others / 2 / static_cast<double>(parameters);
}

/// Section 3 of the paper, table 1: M each for gathers of forward and backward and for gradients, with all three
/// 0.5 M, nothing, and 0.25 M. Scales and vectors are the rest.
TEST(ZeroPlusPlus, MovesTheVolumesOfItsPaperAcrossNodes) {
    EXPECT_NEAR(volume(zero3()), 3, 1e-3);
    EXPECT_NEAR(volume(quantized_weights()), 2, 1e-2);
    EXPECT_NEAR(volume(secondary()), 2, 1e-3);
    EXPECT_NEAR(volume(quantized_gradients()), 2.25, 5e-3);
    EXPECT_NEAR(volume(quantized_gradients(secondary(quantized_weights()))), 0.75, 1e-2);
}

TEST(ZeroPlusPlus, EveryPartOfWhatIsGatheredHasItsScales) {
    const Plan plan = quantized_weights();
    const StepProgram step = build(plan);
    std::uint64_t numbers = 0;
    each_collective(step, [&](const Collective& of, const std::string& name, Phase) {
        if (name == "gather weights") numbers = of.bytes;
        if (name == "gather scales") {
            EXPECT_EQ(of.bytes, blocks_of_weights(numbers / 16) * 4 * 16);
        }
    });
    EXPECT_GT(numbers, 0U);
}

/// CUDAQuantizer.quantize as it is written.
std::uint64_t groups(std::uint64_t numel) {
    std::uint64_t groups = (numel + 7999) / 8000;
    while (groups < numel) {
        if (numel % (8 * groups) == 0) break;
        ++groups;
    }
    while (numel % (8 * groups * 2) == 0 && numel > groups * 8000) groups *= 2;
    return groups;
}

TEST(ZeroPlusPlus, BlocksAreDeepSpeeds) {
    for (const std::uint64_t units : {1ULL, 7ULL, 997ULL, 1000ULL, 1001ULL, 4096ULL, 12345ULL, 65536ULL, 99991ULL})
        EXPECT_EQ(blocks_of_weights(8 * units), groups(8 * units)) << units;
    EXPECT_EQ(blocks_of_weights(0), 0U);
    EXPECT_EQ(blocks_of_weights(8 * 1000 - 5), blocks_of_weights(8 * 1000)) << "filled up";
    EXPECT_EQ(blocks_of_weights(std::uint64_t{1} << 27U), std::uint64_t{1} << 15U) << "blocks of 4,096";
}

TEST(ZeroPlusPlus, TheSecondaryPartitionTakesItsMemory) {
    const auto weights = [](const Plan& plan) {
        const StepProgram step = build(plan);
        std::uint64_t bytes = 0;
        for (const Buffer& buffer : step.programs.front().buffers)
            if (buffer.keep == Keep::weight && buffer.lifetime.span == Lifetime::Span::step) bytes += buffer.bytes;
        return bytes;
    };
    const std::uint64_t parameters = models::parameters(models::build(zero3().model));
    EXPECT_EQ(weights(secondary()), weights(zero3()) + parameters * 2 / of_node);
    EXPECT_EQ(weights(quantized_weights()), weights(zero3()));
    Plan all = secondary();
    all.strategy.secondary_partition = nodes * of_node;
    EXPECT_EQ(refused_at(all), "accepted");
    EXPECT_EQ(weights(all), 2 * weights(zero3())) << "twice the same part";
}

/// Only a layer's first use in a step gathers it from all ranks, whatever the number of micro-batches.
TEST(ZeroPlusPlus, LaterGathersOfAStepStayInTheNode) {
    for (const std::uint32_t micro_batches : {1U, 3U}) {
        const Plan plan = secondary(zero3(micro_batches));
        const StepProgram step = build(plan);
        std::map<bool, int> gathers;
        each_collective(step, [&](const Collective& of, const std::string&, Phase phase) {
            if (of.kind != CollectiveKind::all_gather) return;
            const bool across = of.group.has(Axis::replica);
            ++gathers[across];
            if (across) {
                EXPECT_EQ(phase, Phase::forward);
            }
        });
        const int layers = 4 + 2;  // and embedding and head
        EXPECT_EQ(gathers[true], layers);
        EXPECT_EQ(gathers[false], (2 * static_cast<int>(micro_batches) - 1) * layers - 1)
            << "the head's stay from its forward to its backward";
        EXPECT_EQ(std::ranges::count_if(
                      step.programs.front().ops,
                      [&](const Op& op) { return step.names[op.label.name] == "secondary partition there"; }),
                  layers);
    }
}

/// Of each matrix: four bits a number within the node, of a node's sum across; blocks as long as its shorter side.
TEST(ZeroPlusPlus, GradientsGoMatrixByMatrixInFourBits) {
    const Plan plan = quantized_gradients();
    const StepProgram step = build(plan);
    std::map<std::uint64_t, int> within, across;
    std::uint64_t scattered = 0;
    each_collective(step, [&](const Collective& of, const std::string& name, Phase) {
        if (of.kind == CollectiveKind::reduce_scatter) scattered += of.bytes;
        if (of.kind == CollectiveKind::all_to_all && name == "gradient reduction")
            ++(of.group.has(Axis::replica) ? across : within)[of.bytes];
    });
    const std::uint64_t hidden = 4096, ffn = 8192, up = 2 * ffn * hidden, down = ffn * hidden, words = 32000 * hidden;
    EXPECT_EQ(within[up / 2], 4);
    EXPECT_EQ(within[down / 2], 2 * 4) << "queries, keys and values are as many";
    EXPECT_EQ(within[words / 2], 2) << "embedding and head";
    EXPECT_EQ(across[up / 2 / of_node], 4);
    EXPECT_EQ(across[words / 2 / of_node], 2);
    EXPECT_EQ(scattered, (2 * 4 + 1) * hidden * 2) << "norms";
}

/// A matrix whose numbers 2 x 16 does not divide is scattered as vectors are.
TEST(ZeroPlusPlus, WhatRanksCannotHaveWholeBytesOfIsScattered) {
    const auto collectives = [](const ParameterShape& shape) {
        StepProgram step;
        Intern intern(step);
        Builder builder("gradient");
        const BufferId formed = builder.buffer(shape.numbers() * 2, Keep::gradient);
        (void)QuantizedExchange(quantized_gradients(), builder, intern).write(shape, formed);
        std::vector<CollectiveKind> kinds;
        for (const Op& op : std::move(builder).finish().ops)
            if (const auto* one = std::get_if<Collective>(&op.what)) kinds.push_back(one->kind);
        return kinds;
    };
    const std::vector<CollectiveKind> plain{CollectiveKind::reduce_scatter}, quantized(4, CollectiveKind::all_to_all);
    EXPECT_EQ(collectives({.rows = 3, .cols = 16}), plain);
    EXPECT_EQ(collectives({.rows = 64}), plain);
    EXPECT_EQ(collectives({.rows = 4, .cols = 16}), quantized) << "numbers and scales, in the node and across";
}

TEST(ZeroPlusPlus, InOneNodeGradientsAreScatteredAsEver) {
    Plan plan = quantized_gradients();
    plan.strategy.node_ranks = nodes * of_node;
    EXPECT_EQ(refused_at(plan), "accepted");
    const auto reduced = [](const Plan& of) {
        std::vector<std::uint64_t> list;
        each_collective(build(of), [&](const Collective& one, const std::string&, Phase) {
            if (one.kind != CollectiveKind::all_gather) list.push_back(one.bytes);
        });
        return list;
    };
    EXPECT_EQ(reduced(plan), reduced(zero3()));
}

TEST(ZeroPlusPlus, GoesWithTheRest) {
    const auto check = [](const auto& change) {
        Plan plan = quantized_gradients(secondary(quantized_weights(zero3(2))));
        change(plan);
        ASSERT_EQ(refused_at(plan), "accepted");
        EXPECT_EQ(verify(build(plan)), Problems{});
    };
    check([](Plan&) {});
    check([](Plan& p) { p.strategy.overlap_grad_reduce = true; });
    check([](Plan& p) { p.strategy.recompute = Recompute::full; });
    check([](Plan& p) { p.strategy.optimizer_cpu_offload = true; });
    check([](Plan& p) { p.training.optimizer = Optimizer::lamb; });
    check([](Plan& p) { p.model.tied_embeddings = true; });
    check([](Plan& p) { p.strategy.cpu_offloading_num_layers = 2; });
    check([](Plan& p) {
        p.strategy.context = 2;
        p.strategy.data /= 2;
        p.training.fused_attention = true;
        p.training.global_batch /= 2;
    });
    Plan tensor = quantized_weights();
    tensor.strategy.tensor = 2;
    ASSERT_EQ(refused_at(tensor), "accepted");
    EXPECT_EQ(verify(build(tensor)), Problems{});
}

TEST(ZeroPlusPlus, WhatItDoesNotGoWithIsRefused) {
    const auto with = [](Plan plan, auto change) {
        change(plan);
        return refused_at(plan);
    };
    const char *weights = "/strategy/zero_quantized_weights", *parts = "/strategy/zero_hpz_partition_size",
               *gradients = "/strategy/zero_quantized_gradients";
    EXPECT_EQ(with(quantized_weights(), [](Plan& p) { p.strategy.sharding = Sharding::zero2; }), weights);
    EXPECT_EQ(with(quantized_weights(), [](Plan& p) { p.strategy.pipeline = 2; }), weights);
    EXPECT_EQ(with(quantized_weights(), [](Plan& p) { p.strategy.optimizer_instances = 2; }), weights);
    EXPECT_EQ(with(quantized_weights(), [](Plan& p) { p.training.lora_rank = 8; }), weights);
    EXPECT_EQ(with(secondary(), [](Plan& p) { p.strategy.tensor = 2; }), parts);
    EXPECT_EQ(with(quantized_gradients(), [](Plan& p) { p.strategy.tensor = 2; }), gradients);
    EXPECT_EQ(with(secondary(), [](Plan& p) { p.strategy.secondary_partition = 6; }), parts);
    EXPECT_EQ(with(secondary(quantized_gradients()), [](Plan& p) { p.strategy.secondary_partition = 8; }), parts);
    EXPECT_EQ(with(zero3(), [](Plan& p) { p.strategy.node_ranks = 8; }), "/strategy/zero_ranks_per_node");
    EXPECT_EQ(with(quantized_gradients(), [](Plan& p) { p.training.precision.grad_reduce = kernels::Dtype::fp32; }),
              "/training/grad_reduce_precision");
    EXPECT_EQ(with(quantized_weights(),
                   [](Plan& p) {
                       p.training.precision = {kernels::Dtype::fp32, kernels::Dtype::fp32};
                   }),
              "/training/precision");
    Plan experts = moe_plan();
    experts.strategy.sharding = Sharding::zero3;
    experts.strategy.quantized_weights = true;
    EXPECT_EQ(refused_at(experts), weights);
}

/// Partitions are filled up: a layer of fewer numbers than there are ranks is one number on each.
TEST(ZeroPlusPlus, GathersLayersOfFewerNumbersThanRanks) {
    Plan plan = tiny_plan(1, 1, 10);
    plan.model = models::find("clip-vit-b32");
    plan.training.seq = 50;
    plan.training.decoder_seq = 77;
    plan.training.global_batch = 10 * plan.training.micro_batch;
    plan.strategy.sharding = Sharding::zero3;
    plan.strategy.quantized_weights = true;
    validate(plan);
    for (const kernels::Kernel& kernel : build(plan).kernels) EXPECT_GT(kernels::bytes(kernel), 0);
}

}  // namespace
}  // namespace orrery::strategies
