// What stands between products, by how much a framework fuses; and what fp8 and fp4 add.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/partition/tensor.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::PointwiseKind;

Plan llama_plan() {
    Plan plan = tiny_plan();
    plan.model = tiny_llama();
    return plan;
}

ShardedLayer layer(KernelFusion fusion) {
    Plan plan = tiny_plan();
    plan.training.kernel_fusion = fusion;
    return shard(models::build(plan.model).layer("block"), plan);
}

template <class Counts>
double sum(const ShardedLayer& layer, const Counts& counts) {
    double total = 0;
    for (const Piece& piece : layer.pieces)
        for (const auto* list : {&piece.forward, &piece.backward})
            for (const Work& work : *list) total += counts(work);
    return total;
}

double memory_bound_bytes(const ShardedLayer& layer) {
    return sum(layer, [](const Work& work) {
        const auto* kernel = std::get_if<kernels::Kernel>(&work.what);
        return kernel != nullptr && std::holds_alternative<kernels::Pointwise>(*kernel) ? kernels::bytes(*kernel) : 0;
    });
}

double products(const ShardedLayer& layer) {
    return sum(layer, [](const Work& work) {
        const auto* kernel = std::get_if<kernels::Kernel>(&work.what);
        return kernel != nullptr ? kernels::flops(*kernel) : 0;
    });
}

TEST(KernelFusion, LessOfItMovesMoreBytesAndComputesTheSame) {
    const ShardedLayer full = layer(KernelFusion::full), operators = layer(KernelFusion::operators),
                       primitives = layer(KernelFusion::primitives);
    EXPECT_GT(memory_bound_bytes(operators), 1.2 * memory_bound_bytes(full));
    EXPECT_GT(memory_bound_bytes(primitives), 1.5 * memory_bound_bytes(operators));
    EXPECT_EQ(products(operators), products(full));
    EXPECT_EQ(products(primitives), products(full));
    EXPECT_EQ(primitives.counts().trained, full.counts().trained);
    EXPECT_EQ(primitives.saved_bytes(), full.saved_bytes());
}

/// Casts of 6 bytes an element, fp32 passes of 4 or 8 read and 4 written, 16-bit ones of half that: 36 and 76; one
/// kernel reads and writes 4 forward, and 6 backward. Two norms a layer.
TEST(KernelFusion, AnRmsNormOfOperatorsPassesOverItsRowsAgain) {
    Plan plan = llama_plan();
    const auto of = [&](bool fused) {
        plan.training.fused_rms_norm = fused;
        return shard(models::build(plan.model).layer("block"), plan);
    };
    const ShardedLayer fused = of(true), eager = of(false);
    const double elements = static_cast<double>(plan.training.micro_batch) * plan.training.seq * plan.model.hidden;
    EXPECT_NEAR((memory_bound_bytes(eager) - memory_bound_bytes(fused)) / elements, 2 * (36 + 76 - 4 - 6), 1);
    EXPECT_EQ(products(eager), products(fused));
    EXPECT_EQ(eager.counts().trained, fused.counts().trained);
    EXPECT_EQ(eager.saved_bytes() - fused.saved_bytes(), static_cast<std::uint64_t>(2 * 6 * elements));
}

/// silu(a) * b in 16 bits: 4 and 6 bytes forward, 6, 6 and 6 backward, where one kernel moves 6 and 10.
TEST(KernelFusion, AGateOfOperatorsPassesOverItsWidthAgain) {
    Plan plan = llama_plan();
    const auto activation = [&](KernelFusion fusion) {
        plan.training.kernel_fusion = fusion;
        const ShardedLayer all = shard(models::build(plan.model).layer("block"), plan);
        ShardedLayer only;
        std::ranges::copy_if(all.pieces, std::back_inserter(only.pieces),
                             [](const Piece& piece) { return piece.name.starts_with("swiglu"); });
        return only;
    };
    const ShardedLayer full = activation(KernelFusion::full), operators = activation(KernelFusion::operators);
    const double elements = static_cast<double>(plan.training.micro_batch) * plan.training.seq * plan.model.ffn;
    EXPECT_NEAR(memory_bound_bytes(full) / elements, 6 + 10, 0.1);
    EXPECT_NEAR(memory_bound_bytes(operators) / elements, 10 + 18, 0.1);
    EXPECT_EQ(operators.saved_bytes() - full.saved_bytes(), static_cast<std::uint64_t>(2 * elements));
}

/// pow(relu(x), 2) in 16 bits: 4 and 4 bytes forward; backward a copy and a product with 2, 4 each, and two of two
/// tensors, 6 each; where one kernel moves 4 and 6. A bias is a pass more, forward.
TEST(KernelFusion, ASquaredReluOfOperatorsPassesOverItsWidthAgain) {
    for (const bool biased : {false, true}) {
        Plan plan = tiny_plan();
        plan.model.activation = models::ActivationKind::squared_relu;
        plan.model.linear_bias = biased;
        const double elements = static_cast<double>(plan.training.micro_batch) * plan.training.seq * plan.model.ffn;
        const auto of_element = [&](bool fused) {
            plan.training.bias_activation_fusion = fused;
            EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
            const ShardedLayer all = shard(models::build(plan.model).layer("block"), plan);
            ShardedLayer only;
            std::ranges::copy_if(all.pieces, std::back_inserter(only.pieces),
                                 [](const Piece& piece) { return piece.name == "squared relu"; });
            EXPECT_EQ(only.pieces.size(), 1U);
            return memory_bound_bytes(only) / elements;
        };
        EXPECT_NEAR(of_element(true), 4 + 6, 0.1);
        EXPECT_NEAR(of_element(false), 8 + 20 + (biased ? 4 : 0), 0.1);
    }
}

/// Of all kernels, both ways.
double bytes_of(const Piece& piece) {
    double bytes = 0;
    for (const auto* list : {&piece.forward, &piece.backward})
        for (const Work& work : *list)
            if (const auto* kernel = std::get_if<kernels::Kernel>(&work.what)) bytes += kernels::bytes(*kernel);
    return bytes;
}

/// Megatron-LM's cross_entropy.py: 6 bytes of a cast, 4 + 8 + 8 + 4 + 8 forward, 8 + 6 backward for each logit; joined
/// 12 of casts and 8 each way. What is a number a token comes to nothing beside them.
TEST(KernelFusion, ALossOfOperatorsPassesOverItsLogitsAgain) {
    for (const std::uint32_t tensor : {1U, 2U}) {
        Plan plan = tiny_plan(tensor, 1, 2);
        plan.training.precision.compute = kernels::Dtype::bf16;
        const auto of_logit = [&](bool fused) {
            plan.training.cross_entropy_fusion = fused;
            const ShardedLayer head = shard(models::build(plan.model).layer("head"), plan);
            const auto loss = std::ranges::find(head.pieces, "loss", &Piece::name);
            EXPECT_NE(loss, head.pieces.end());
            std::ptrdiff_t collectives = 0;
            for (const auto* list : {&loss->forward, &loss->backward})
                collectives += std::ranges::count_if(
                    *list, [](const Work& work) { return !std::holds_alternative<kernels::Kernel>(work.what); });
            EXPECT_EQ(collectives, tensor > 1 ? 3 : 0);
            const double tokens = double{1} * plan.training.micro_batch * plan.training.seq;
            return bytes_of(*loss) / tokens / static_cast<double>(plan.padded_vocab() / tensor);
        };
        EXPECT_NEAR(of_logit(true), tensor > 1 ? 32 : 28, 0.1) << "divided, the largest logits are a pass of their own";
        EXPECT_NEAR(of_logit(false), 52, 0.7) << tensor;
        plan.training.cross_entropy_fusion = false;
        EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
    }
}

/// PyTorch's operators: log-probabilities, zeros but for the targets, and the logits' gradient are fp32 tensors beside
/// each other.
TEST(KernelFusion, ALossOfPyTorchKeepsThreeTensorsOfLogits) {
    for (const std::uint32_t tensor : {1U, 2U}) {
        Plan plan = tiny_plan(tensor, 1, 2);
        plan.training.precision.compute = kernels::Dtype::bf16;
        const auto loss_of = [&](CrossEntropy how) {
            plan.training.cross_entropy = how;
            const ShardedLayer head = shard(models::build(plan.model).layer("head"), plan);
            return *std::ranges::find(head.pieces, "loss", &Piece::name);
        };
        const double logits = double{1} * plan.training.micro_batch * plan.training.seq *
                              static_cast<double>(plan.padded_vocab() / tensor);
        const auto held = [&](const Piece& piece) {
            return static_cast<double>(piece.saved_bytes + piece.working_bytes) / logits;
        };
        EXPECT_EQ(held(loss_of(CrossEntropy::in_place)), 6);
        const Piece torch = loss_of(CrossEntropy::torch);
        EXPECT_EQ(held(torch), 12);
        EXPECT_NEAR(bytes_of(torch) / logits, tensor > 1 ? 40 : 36, 0.7) << "6 + 8, and 4 + 12 + 6 back";
        EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
    }
}

/// BERT's modeling.py: x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) is eight operations.
TEST(KernelFusion, PrimitivesOfGeluAreEightBehindTheBias) {
    const ShardedLayer primitives = layer(KernelFusion::primitives);
    const auto gelu = std::ranges::find(primitives.pieces, "gelu", &Piece::name);
    ASSERT_NE(gelu, primitives.pieces.end());
    EXPECT_EQ(gelu->forward.size(), 1U + 8U);
}

/// Of queries and keys: a half negated, the halves joined, two products and their sum.
TEST(KernelFusion, RotaryPositionsAreOneKernelOrPyTorchsOperators) {
    const auto rope = [](KernelFusion fusion) {
        Plan plan = tiny_plan();
        plan.model.position = models::PositionKind::rope;
        plan.model.max_positions = 0;
        plan.training.kernel_fusion = fusion;
        const ShardedLayer sharded = shard(models::build(plan.model).layer("block"), plan);
        const auto found = std::ranges::find(sharded.pieces, "rope", &Piece::name);
        EXPECT_NE(found, sharded.pieces.end());
        return found == sharded.pieces.end() ? Piece{} : *found;
    };
    const Piece one = rope(KernelFusion::full), many = rope(KernelFusion::operators);
    EXPECT_EQ(one.forward.size(), 1U);
    EXPECT_EQ(many.forward.size(), 5U);
    EXPECT_EQ(many.backward.size(), 7U);
    const auto bytes = [](const std::vector<Work>& list) {
        double all = 0;
        for (const Work& work : list) all += kernels::bytes(std::get<kernels::Kernel>(work.what));
        return all;
    };
    // Read and written: half of it, three times the whole, and a sum of two.
    EXPECT_NEAR(bytes(many.forward) / bytes(one.forward), (1 + 3 * 2 + 3) / 2.0, 0.3);
    EXPECT_EQ(one.saved_bytes, many.saved_bytes);
}

TEST(Fp8, ScalesFromTheTensorItselfReadItOnceMore) {
    const auto reads = [](Fp8Recipe recipe) {
        Plan plan = tiny_plan();
        plan.training.precision.compute = kernels::Dtype::fp8;
        plan.training.fp8_recipe = recipe;
        const ShardedLayer sharded = shard(models::build(plan.model).layer("block"), plan);
        return std::pair(sum(sharded, [](const Work& w) { return w.name == "quantise" ? 1 : 0; }),
                         sum(sharded, [](const Work& w) { return w.name == "amax" ? 1 : 0; }));
    };
    // Inputs and output gradients of four linear layers.
    EXPECT_EQ(reads(Fp8Recipe::delayed), std::pair(8.0, 0.0));
    EXPECT_EQ(reads(Fp8Recipe::mxfp8), std::pair(8.0, 0.0));
    EXPECT_EQ(reads(Fp8Recipe::tensorwise), std::pair(8.0, 8.0));
}

/// Products of a layer in a format.
double products_in(const ShardedLayer& layer, kernels::Dtype format) {
    return sum(layer, [format](const Work& work) {
        const auto* kernel = std::get_if<kernels::Kernel>(&work.what);
        const auto* gemm = kernel == nullptr ? nullptr : std::get_if<kernels::Gemm>(kernel);
        return gemm != nullptr && gemm->dtype == format ? 1 : 0;
    });
}

TEST(Fp4, LinearLayersAreInItAndTensorsAreReadForTheirMaximumFirst) {
    Plan plan = tiny_plan();
    plan.training.precision.compute = kernels::Dtype::fp4;
    const models::Model model = models::build(plan.model);
    const ShardedLayer block = shard(model.layer("block"), plan);
    EXPECT_EQ(products_in(block, kernels::Dtype::fp4), 12);  // four linear layers, forward and both gradients
    EXPECT_EQ(sum(block, [](const Work& w) { return w.name == "amax" ? 1 : 0; }), 8);
    EXPECT_EQ(sum(block, [](const Work& w) { return w.name == "quantise" ? 1 : 0; }), 8);
}

/// Megatron-LM's output layer is none of Transformer Engine's.
TEST(NarrowFormats, LogitsStayIn16Bits) {
    for (const kernels::Dtype format : {kernels::Dtype::fp8, kernels::Dtype::fp4}) {
        Plan plan = tiny_plan();
        plan.training.precision.compute = format;
        const ShardedLayer head = shard(models::build(plan.model).layer("head"), plan);
        EXPECT_EQ(products_in(head, format), 0);
        EXPECT_EQ(products_in(head, kernels::Dtype::bf16), 3);
    }
}

TEST(NarrowFormats, LayersAtBothEndsStayIn16BitsWhereThePlanSaysSo) {
    const auto products = [](std::uint32_t first, std::uint32_t last, kernels::Dtype format) {
        Plan plan = tiny_plan();
        plan.model.layers = 6;
        plan.training.precision.compute = kernels::Dtype::fp4;
        plan.training.first_layers_in_bf16 = first;
        plan.training.last_layers_in_bf16 = last;
        const StepProgram flat = unrolled(build(plan));
        double flops = 0;
        for (const Op& op : flat.programs[0].ops)
            if (const auto* compute = std::get_if<Compute>(&op.what))
                if (const auto* gemm = std::get_if<kernels::Gemm>(&flat.kernels[compute->kernel]))
                    flops += gemm->dtype == format ? kernels::flops(*gemm) : 0;
        return flops;
    };
    using enum kernels::Dtype;
    const double all = products(0, 0, fp4), logits = products(0, 0, bf16);
    EXPECT_GT(all, 0);
    EXPECT_DOUBLE_EQ(products(1, 2, fp4), all / 2);
    EXPECT_DOUBLE_EQ(products(1, 2, bf16), logits + all / 2);
    EXPECT_EQ(products(4, 4, fp4), 0) << "the ends meet";
    EXPECT_EQ(products(100, 0, fp4), 0);
}

}  // namespace
}  // namespace orrery::strategies
