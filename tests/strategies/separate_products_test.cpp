// Queries, keys, values and a gate as products of their own, and copies of keys and values for each head of queries.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "models/catalog.hpp"
#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/partition/tensor.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::Gemm;
using kernels::GemmPass;
using kernels::Pointwise;
using kernels::PointwiseKind;

constexpr const char* sum_name = "sum gradients of one input";

Plan llama(bool fused, KernelFusion fusion = KernelFusion::operators) {
    Plan plan = tiny_plan();
    plan.model = tiny_llama();
    plan.training.precision = {.compute = kernels::Dtype::bf16, .grad_reduce = kernels::Dtype::fp32};
    plan.training.software = hardware::Software::pytorch;
    plan.training.kernel_fusion = fusion;
    plan.training.fused_qkv = plan.training.fused_gate = fused;
    return plan;
}

ShardedLayer block(const Plan& plan) { return shard(models::build(plan.model).layer("block"), plan); }

const Piece& piece(const ShardedLayer& layer, std::string_view name) {
    return *std::ranges::find(layer.pieces, name, &Piece::name);
}

template <class Kernel>
std::vector<Kernel> kernels_in(const std::vector<Work>& works) {
    std::vector<Kernel> found;
    for (const Work& work : works)
        if (const auto* kernel = std::get_if<kernels::Kernel>(&work.what))
            if (const auto* one = std::get_if<Kernel>(kernel)) found.push_back(*one);
    return found;
}

std::vector<std::uint32_t> outputs(const std::vector<Work>& works, GemmPass pass) {
    std::vector<std::uint32_t> found;
    for (const Gemm& gemm : kernels_in<Gemm>(works))
        if (gemm.pass == pass) found.push_back(pass == GemmPass::data_gradient ? gemm.k : gemm.n);
    return found;
}

double flops(const ShardedLayer& layer) {
    double sum = 0;
    for (const Piece& one : layer.pieces)
        for (const auto* list : {&one.forward, &one.backward})
            for (const Gemm& gemm : kernels_in<Gemm>(*list)) sum += kernels::flops(gemm);
    return sum;
}

/// Elements that passes of this name read or write, once each.
double cells(const Piece& of, std::string_view name) {
    double sum = 0;
    for (const Work& work : of.backward)
        if (work.name == name) {
            const auto& pass = std::get<Pointwise>(std::get<kernels::Kernel>(work.what));
            sum += static_cast<double>(pass.rows * pass.cols) * (pass.kind == PointwiseKind::add ? 3 : 2);
        }
    return sum;
}

/// Hidden 64, 4 heads of 16 over 2 of keys and values, gated MLP of 192.
TEST(SeparateProducts, DivideOutputsAndComputeTheSame) {
    const ShardedLayer one = block(llama(true)), apart = block(llama(false));
    using V = std::vector<std::uint32_t>;
    for (const GemmPass pass : {GemmPass::forward, GemmPass::data_gradient, GemmPass::weight_gradient}) {
        const auto of = [&](const ShardedLayer& layer, const char* name) {
            return outputs(pass == GemmPass::forward ? piece(layer, name).forward : piece(layer, name).backward, pass);
        };
        EXPECT_EQ(of(one, "qkv"), V{128});
        EXPECT_EQ(of(apart, "qkv"), (V{64, 32, 32}));
        EXPECT_EQ(of(one, "up"), V{384});
        EXPECT_EQ(of(apart, "up"), (V{192, 192}));
        EXPECT_EQ(of(apart, "down"), V{64});
    }
    EXPECT_EQ(flops(one), flops(apart));
    EXPECT_EQ(one.counts().trained, apart.counts().trained);
    EXPECT_EQ(one.saved_bytes(), apart.saved_bytes());
    EXPECT_EQ(verify(build(llama(false))), std::vector<std::string>{});
}

/// Autograd adds what two and more products leave; of what torch.compile joins each is read once more.
TEST(SeparateProducts, TheirInputsGradientsAreSummed) {
    const Plan plan = llama(false);
    const double of_input = static_cast<double>(plan.rank_tokens()) * plan.model.hidden;
    const ShardedLayer eager = block(plan), compiled = block(llama(false, KernelFusion::full));
    EXPECT_EQ(cells(piece(eager, "qkv"), sum_name), 2 * 3 * of_input);
    EXPECT_EQ(cells(piece(eager, "up"), sum_name), 3 * of_input);
    EXPECT_EQ(cells(piece(eager, "down"), sum_name), 0);
    EXPECT_EQ(cells(piece(compiled, "qkv"), sum_name), 2 * of_input);
    EXPECT_EQ(cells(piece(compiled, "up"), sum_name), of_input);
    EXPECT_EQ(cells(piece(block(llama(true)), "qkv"), sum_name), 0);
}

/// Before what tensor ranks reduce, which is one sum.
TEST(SeparateProducts, AreSummedBeforeTensorRanksReduce) {
    Plan plan = llama(false);
    plan.strategy.tensor = 2;
    const ShardedLayer layer = block(plan);
    const auto& works = piece(layer, "qkv").backward;
    const auto is_collective = [](const Work& work) { return std::holds_alternative<LayerCollective>(work.what); };
    EXPECT_EQ(std::ranges::count_if(works, is_collective), 1);
    const auto sum = std::ranges::find(works, sum_name, &Work::name);
    EXPECT_LT(sum, std::ranges::find_if(works, is_collective));
    EXPECT_EQ(outputs(piece(layer, "qkv").forward, GemmPass::forward), (std::vector<std::uint32_t>{32, 16, 16}));
    EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
}

/// torch.autocast keeps no copy of an input: each product casts its own and keeps it, and gradients are summed in fp32.
TEST(SeparateProducts, UnderAutocastEachCastsItsInput) {
    const auto of = [](bool fused) {
        Plan plan = llama(fused);
        plan.training.autocast = true;
        plan.training.gradient_accumulation_fusion = false;
        EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
        return block(plan);
    };
    const ShardedLayer one = of(true), apart = of(false);
    const auto casts = [](const ShardedLayer& layer, std::string_view name) {
        return std::ranges::count(piece(layer, "qkv").forward, name, &Work::name) +
               std::ranges::count(piece(layer, "qkv").backward, name, &Work::name);
    };
    for (const char* name : {"qkv input to 16 bits", "qkv input gradient to fp32"}) {
        EXPECT_EQ(casts(one, name), 1) << name;
        EXPECT_EQ(casts(apart, name), 3) << name;
    }
    const std::uint64_t tokens = llama(true).rank_tokens();
    EXPECT_EQ(apart.saved_bytes() - one.saved_bytes(), tokens * 64 * 2 * (2 + 1)) << "of qkv two, of up one";
    std::size_t sums = 0;
    for (const Work& work : piece(apart, "qkv").backward) {
        if (work.name != sum_name) continue;
        ++sums;
        EXPECT_EQ(std::get<Pointwise>(std::get<kernels::Kernel>(work.what)).dtype, kernels::Dtype::fp32);
    }
    EXPECT_EQ(sums, 2U);
}

/// Adapters stand beside the product that they adapt: its own are split, theirs are what they are.
TEST(SeparateProducts, LeaveAdaptersAsTheyAre) {
    Plan plan = llama(false);
    plan.training.lora_rank = 8;
    for (const bool canonical : {false, true}) {
        plan.training.canonical_lora = canonical;
        const Piece qkv = piece(block(plan), "qkv");
        using V = std::vector<std::uint32_t>;
        const V adapters = canonical ? V{64, 32, 32, 8, 64, 8, 32, 8, 32} : V{64, 32, 32, 8, 128};
        EXPECT_EQ(outputs(qkv.forward, GemmPass::forward), adapters);
        EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
    }
    plan.training.base_weights = BaseWeights::nf4;
    EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
}

/// torchao's Linears cast their input each for itself; torch.compile casts it once.
TEST(SeparateProducts, InFp8EachCastsItsInput) {
    const auto casts = [](bool fused, KernelFusion fusion) {
        Plan plan = llama(fused, fusion);
        plan.training.precision.compute = kernels::Dtype::fp8;
        plan.training.fp8_recipe = Fp8Recipe::tensorwise;
        return std::ranges::count(piece(block(plan), "qkv").forward, "quantise", &Work::name);
    };
    EXPECT_EQ(casts(true, KernelFusion::operators), 1);
    EXPECT_EQ(casts(false, KernelFusion::operators), 3);
    EXPECT_EQ(casts(false, KernelFusion::full), 1);
}

/// Keys and values of an encoder's output are two products, and T5 has no biases.
TEST(SeparateProducts, OfCrossAttentionAreTwo) {
    Plan plan = tiny_plan();
    plan.model = models::find("t5-base");
    plan.training.seq = plan.training.decoder_seq = 32;
    plan.training.fused_attention = false;
    plan.training.fused_qkv = false;
    EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
    const StepProgram apart = unrolled(build(plan));
    plan.training.fused_qkv = true;
    const StepProgram one = unrolled(build(plan));
    EXPECT_DOUBLE_EQ(kernel_flops(apart), kernel_flops(one));
    EXPECT_GT(apart.programs[0].ops.size(), one.programs[0].ops.size());
}

/// One layer's outputs are split, and their gradients joined again; what several layers left is not.
TEST(SeparateProducts, HaveNoGradientsToJoin) {
    const auto joined = [](bool fused, bool shared) {
        Plan plan = llama(fused, KernelFusion::full);
        plan.training.fused_attention = false;
        plan.training.enable_gqa = shared;
        std::uint64_t columns = 0;
        for (const Work& work : piece(block(plan), "attention core").backward)
            if (work.name == "join gradients")
                columns += std::get<Pointwise>(std::get<kernels::Kernel>(work.what)).cols;
        return columns;
    };
    EXPECT_EQ(joined(true, true), 128U);
    EXPECT_EQ(joined(true, false), 128U) << "copies' gradients are summed before";
    EXPECT_EQ(joined(false, false), 0U);
}

/// BERT's have biases, whose gradients are sums of their own.
TEST(SeparateProducts, BiasesHaveGradientsApart) {
    Plan plan = tiny_plan();
    plan.training.fused_qkv = false;
    const ShardedLayer layer = block(plan);
    std::vector<std::uint64_t> columns;
    for (const Pointwise& pass : kernels_in<Pointwise>(piece(layer, "qkv").backward))
        if (pass.kind == PointwiseKind::bias_gradient) columns.push_back(pass.cols);
    EXPECT_EQ(columns, std::vector<std::uint64_t>(3, plan.model.hidden));
}

/// A cast, a product in fp32 and a cast back, of queries and keys, whoever joins kernels otherwise; nothing more is
/// kept.
TEST(Rotation, OfComplexNumbersIsThreeKernelsEachWay) {
    for (const KernelFusion fusion : {KernelFusion::full, KernelFusion::operators}) {
        Plan plan = llama(true, fusion);
        const std::uint64_t joined = block(plan).saved_bytes();
        plan.training.complex_rope = true;
        EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
        const ShardedLayer layer = block(plan);
        const std::uint64_t turned = (4 + 2) * 16;  // columns of queries and keys
        for (const auto& list : {piece(layer, "rope").forward, piece(layer, "rope").backward}) {
            const std::vector<Pointwise> passes = kernels_in<Pointwise>(list);
            ASSERT_EQ(passes.size(), 3U);
            EXPECT_EQ(passes[0].kind, PointwiseKind::cast);
            EXPECT_EQ(passes[1], (Pointwise{PointwiseKind::scale, kernels::Dtype::fp32, plan.rank_tokens(), turned}));
            EXPECT_EQ(passes[2], passes[0]);
        }
        EXPECT_EQ(layer.saved_bytes(), joined);
    }
}

/// Of 2 heads of keys and values copies for 4 of queries: attention keeps twice as many, and each is read and written.
TEST(SharedHeads, AreCopiedWhereAttentionTakesNone) {
    const auto of = [](bool shared, KernelFusion fusion = KernelFusion::operators) {
        Plan plan = llama(true, fusion);
        plan.training.fused_attention = true;
        plan.training.enable_gqa = shared;
        EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
        return block(plan);
    };
    const ShardedLayer shared = of(true), copied = of(false);
    const auto attention = [](const ShardedLayer& layer) {
        return kernels_in<kernels::Attention>(piece(layer, "attention core").forward).front();
    };
    EXPECT_EQ(attention(shared).kv_heads, 2U);
    EXPECT_EQ(attention(copied).kv_heads, 4U);
    const std::uint64_t row = llama(true).rank_tokens() * 16 * 2;  // bytes of a head
    EXPECT_EQ(copied.saved_bytes() - shared.saved_bytes(), 2 * 2 * row);
    const auto moved = [&](const ShardedLayer& layer) {
        double sum = 0;
        for (const auto* list : {&piece(layer, "attention core").forward, &piece(layer, "attention core").backward})
            for (const Pointwise& pass : kernels_in<Pointwise>(*list)) sum += kernels::bytes(pass);
        return sum / static_cast<double>(row);
    };
    EXPECT_EQ(moved(shared), 0);
    EXPECT_EQ(moved(copied), 2 * 2 * (2 + 4)) << "keys and values, both ways";
    EXPECT_EQ(moved(of(false, KernelFusion::full)), 2 * ((4 - 2) + (2 + 4))) << "keys are written where they rotate";
}

TEST(SharedHeads, AreNotCopiedBesideContextRanksOrWhereNoneIsShared) {
    Plan plan = llama(true);
    plan.training.enable_gqa = false;
    plan.training.fused_attention = true;
    plan.strategy.context = 2;
    for (const Piece& one : block(plan).pieces) EXPECT_EQ(std::ranges::count(one.forward, "copy keys", &Work::name), 0);
    plan.strategy.context = 1;
    plan.model.kv_heads = plan.model.heads;
    for (const Piece& one : block(plan).pieces) EXPECT_EQ(std::ranges::count(one.forward, "copy keys", &Work::name), 0);
}

}  // namespace
}  // namespace orrery::strategies
