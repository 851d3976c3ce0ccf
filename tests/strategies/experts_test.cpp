// Expert parallelism: who holds, sends and reduces what, counted by hand.
#include "strategies/partition/experts.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <map>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "strategies/partition/expert_dispatch.hpp"
#include "strategies/stage.hpp"
#include "strategies/state_bytes.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::CollectiveKind;
using kernels::Gemm;

constexpr std::uint64_t tokens = 256, hidden = 64, one_expert = 3 * 64 * 96;

models::Experts experts_of(const Plan& plan) {
    const models::Model model = models::build(plan.model);
    for (const auto& op : model.layer("moe block").operators)
        if (const auto* experts = std::get_if<models::Experts>(&op)) return *experts;
    throw std::logic_error("a layer without experts");
}

struct Sum {
    std::uint32_t calls = 0;
    std::uint64_t bytes = 0;
};
std::map<std::pair<CollectiveKind, AxisSet::Bits>, Sum> collectives(const Program& program) {
    std::map<std::pair<CollectiveKind, AxisSet::Bits>, Sum> sums;
    for (const Op& op : program.ops)
        if (const auto* c = std::get_if<Collective>(&op.what)) {
            Sum& sum = sums[{c->kind, c->group.bits()}];
            ++sum.calls;
            sum.bytes += c->bytes;
        }
    return sums;
}

/// FLOPs of all blocks.
double products(const StepProgram& step) {
    double sum = 0;
    for (const Program& block : step.blocks)
        for (const Op& op : block.ops)
            if (const auto* c = std::get_if<Compute>(&op.what)) sum += kernels::flops(step.kernels[c->kernel]);
    return sum;
}

TEST(ExpertParallel, GroupsLieInsideDataGroups) {
    const Plan plan = moe_plan(2, 2, 8, 4);
    validate(plan);
    EXPECT_EQ(plan.mesh().extent, (std::array<std::uint32_t, axes>{2, 1, 1, 1, 1, 1, 4, 2, 1, 2}));
    EXPECT_EQ(plan.mesh().ranks(), plan.ranks());
    EXPECT_EQ(plan.mesh().group(0, plan.expert_group()), (std::vector<std::uint32_t>{0, 2, 4, 6}));
    EXPECT_EQ(plan.mesh().group(0, plan.data_group()), (std::vector<std::uint32_t>{0, 2, 4, 6, 8, 10, 12, 14}));
    EXPECT_EQ(plan.expert_data(), 2U);
}

TEST(ExpertParallel, WholeExpertsTakeRanksOfTheTensorAxis) {
    Plan plan = moe_plan(2, 1, 4, 4);
    plan.strategy.expert_tensor = 1;
    validate(plan);
    EXPECT_EQ(plan.mesh().extent, (std::array<std::uint32_t, axes>{2, 1, 1, 1, 1, 1, 2, 2, 1, 1}));
    EXPECT_EQ(plan.mesh().group(0, plan.expert_group()), (std::vector<std::uint32_t>{0, 1, 2, 3}));
    const ExpertShapes shapes = expert_shapes(experts_of(plan), plan);
    EXPECT_EQ(shapes.ffn, 96U);
    EXPECT_FALSE(shapes.gathers);
}

/// All ranks together work on each token's copies once, however the experts are divided.
TEST(ExpertParallel, TokensAreConserved) {
    for (const std::uint32_t tensor : {1U, 2U})
        for (const std::uint32_t whole : {0U, 1U})
            for (const std::uint32_t expert : {1U, 2U, 4U, 8U}) {
                Plan plan = moe_plan(tensor, 1, 8, expert);
                plan.strategy.expert_tensor = whole;
                if (whole == 1 && expert < tensor) continue;
                validate(plan);
                SCOPED_TRACE(testing::Message() << tensor << " " << whole << " " << expert);
                const ExpertShapes shapes = expert_shapes(experts_of(plan), plan);
                const std::uint64_t split = plan.experts_split() ? tensor : 1;
                EXPECT_EQ(shapes.rows * plan.ranks() / split, 2 * tokens * 8) << "copies in one micro-batch";
                EXPECT_EQ(std::uint64_t{shapes.rows_each} * shapes.experts, shapes.rows);
                EXPECT_EQ(shapes.ffn * split, 96U);
                EXPECT_EQ(shapes.experts * expert, 8U);
            }
}

/// Dispatch and combination, forward and backward: four exchanges of every copy, none with one expert rank.
TEST(ExpertParallel, ExchangesByFormula) {
    for (const auto recompute : {Recompute::none, Recompute::full}) {
        Plan plan = moe_plan();
        plan.strategy.recompute = recompute;
        const StepProgram step = build(plan);
        Sum sum;
        for (const Program& block : step.blocks)
            for (const auto& [key, found] : collectives(block)) {
                EXPECT_EQ(key, std::pair(CollectiveKind::all_to_all, AxisSet{Axis::expert}.bits()));
                sum.calls += found.calls;
                sum.bytes += found.bytes;
            }
        // Under full recomputation the plain layer's blocks are there too.
        const std::uint32_t calls = recompute == Recompute::full ? 4 + 2 + 4 : 4;
        EXPECT_EQ(sum.calls, calls);
        EXPECT_EQ(sum.bytes, calls * 2 * tokens * hidden * 2);
    }
    for (const Program& block : build(moe_plan(1, 1, 4, 1)).blocks) EXPECT_TRUE(collectives(block).empty());
}

/// Megatron-LM's MoEAllGatherTokenDispatcher: all tokens of the group are gathered and scattered, forward and backward;
/// the products are those of the exchange.
TEST(ExpertParallel, TheOtherDispatcherGathersAllTokens) {
    for (const std::uint32_t tensor : {1U, 2U}) {
        Plan plan = moe_plan(tensor, 1, 4, 4);
        const double exchanged = products(build(plan));
        plan.strategy.dispatcher = Dispatcher::allgather;
        validate(plan);
        const StepProgram step = build(plan);
        EXPECT_TRUE(verify(step).empty());
        EXPECT_DOUBLE_EQ(products(step), exchanged);
        const AxisSet group = tensor > 1 ? AxisSet{Axis::tensor, Axis::expert} : AxisSet{Axis::expert};
        std::map<CollectiveKind, std::uint64_t> bytes;
        for (const Program& block : step.blocks)
            for (const Op& op : block.ops)
                if (const auto* c = std::get_if<Collective>(&op.what); c != nullptr && c->group == group)
                    bytes[c->kind] += c->bytes;
        const std::uint64_t all = tokens * 4 * hidden * 2;  // of four data ranks, whose tensor ranks split sequences
        EXPECT_EQ(bytes, (std::map<CollectiveKind, std::uint64_t>{{CollectiveKind::all_gather, 2 * all},
                                                                  {CollectiveKind::reduce_scatter, 2 * all}}));
    }
}

/// DeepEP's way: four exchanges, each with a token once for each of the 1.86 ranks that have one of its two experts.
TEST(ExpertParallel, FlexSendsATokenOnceToARank) {
    for (const std::uint32_t tensor : {1U, 2U}) {
        Plan plan = moe_plan(tensor, 1, 4, 4);
        const double exchanged = products(build(plan));
        plan.strategy.dispatcher = Dispatcher::flex;
        validate(plan);
        const StepProgram step = build(plan);
        EXPECT_TRUE(verify(step).empty());
        EXPECT_DOUBLE_EQ(products(step), exchanged);
        const AxisSet group = tensor > 1 ? AxisSet{Axis::tensor, Axis::expert} : AxisSet{Axis::expert};
        Sum sum;
        for (const Program& block : step.blocks)
            for (const auto& [key, found] : collectives(block))
                if (key == std::pair(CollectiveKind::all_to_all, group.bits())) {
                    sum.calls += found.calls;
                    sum.bytes += found.bytes;
                }
        const double ranks = 4 * (1 - 6.0 / 8 * 5 / 7);
        EXPECT_EQ(sum.calls, 4U);
        EXPECT_EQ(sum.bytes, 4 * static_cast<std::uint64_t>(std::ceil(tokens * ranks)) * hidden * 2);
        EXPECT_LT(sum.bytes, 4 * 2 * tokens * hidden * 2) << "fewer than all copies";
    }
    for (const Program& block : build(moe_plan(1, 1, 4, 1)).blocks) EXPECT_TRUE(collectives(block).empty());
}

TEST(ExpertParallel, PyTorchsIndexingStandsForCopiesThatAreNotFused) {
    const auto kinds = [](const Plan& plan) {
        std::map<kernels::PointwiseKind, int> found;
        for (const kernels::Kernel& kernel : build(plan).kernels)
            if (const auto* pointwise = std::get_if<kernels::Pointwise>(&kernel)) ++found[pointwise->kind];
        return found;
    };
    using enum kernels::PointwiseKind;
    for (const Dispatcher dispatcher : {Dispatcher::alltoall, Dispatcher::flex}) {
        Plan plan = moe_plan();
        plan.strategy.dispatcher = dispatcher;
        const auto fused = kinds(plan);
        plan.training.permute_fusion = false;
        const auto indexed = kinds(plan);
        EXPECT_EQ(fused.count(permute) + fused.count(unpermute), 2U);
        EXPECT_EQ(indexed.count(permute) + indexed.count(unpermute), 0U);
        EXPECT_GT(indexed.at(embedding_backward), fused.at(embedding_backward));
    }
}

TEST(ExpertParallel, SplitExpertsShareTokensOverTheTensorAxis) {
    const StepProgram step = build(moe_plan(2, 1, 4, 4));
    std::map<CollectiveKind, std::uint64_t> bytes;
    for (const Op& op : step.blocks[3].ops)  // forward of the layers, behind the wait for counts
        if (const auto* c = std::get_if<Collective>(&op.what); c != nullptr && op.label.routed)
            bytes[c->kind] += c->bytes;
    EXPECT_EQ(bytes[CollectiveKind::all_to_all], 2 * tokens * hidden * 2) << "two exchanges of half of the sequence";
    EXPECT_EQ(bytes[CollectiveKind::all_gather], 2 * tokens * hidden * 2);
    EXPECT_EQ(bytes[CollectiveKind::reduce_scatter], 2 * tokens * hidden * 2);
}

TEST(ExpertParallel, ProductsAreGrouped) {
    const StepProgram step = build(moe_plan());
    const auto has = [&](const Gemm& gemm) {
        for (const kernels::Kernel& kernel : step.kernels)
            if (const auto* found = std::get_if<Gemm>(&kernel); found != nullptr && *found == gemm) return true;
        return false;
    };
    using enum kernels::GemmPass;
    constexpr auto bf16 = kernels::Dtype::bf16;
    EXPECT_TRUE(has({bf16, 2, tokens, 192, hidden})) << "two local experts, 2 x 256 copies, both halves";
    EXPECT_TRUE(has({bf16, 2, tokens, hidden, 192, data_gradient}));
    EXPECT_TRUE(has({bf16, 2, hidden, 192, tokens, weight_gradient}));
    EXPECT_TRUE(has({bf16, 2, tokens, hidden, 96}));
    EXPECT_TRUE(has({bf16, 1, tokens, 8, hidden})) << "router";
}

/// As Megatron-LM does where Transformer Engine hands the bias back: two kernels of each expert and two of all in the
/// forward; in the backward five and two, in place of one. Gated experts with biases are GPT-OSS's, whose clamps are
/// three kernels and seven more.
TEST(ExpertParallel, BiasesBehindTransformerEngineAreAddedExpertByExpert) {
    Plan plan = moe_plan();
    const auto kernels_of = [&](hardware::Software software) {
        plan.training.software = software;
        const StepProgram step = build(plan);
        std::map<Phase, double> bytes, count, plain;
        for (const Program& block : step.blocks)
            for (const Op& op : block.ops)
                if (const auto* compute = std::get_if<Compute>(&op.what);
                    compute != nullptr && !step.names[op.label.name].starts_with("router operators")) {
                    bytes[op.label.phase] += kernels::bytes(step.kernels[compute->kernel]);
                    ++count[op.label.phase];
                    plain[op.label.phase] += op.label.plain;
                }
        return std::tuple(bytes, count, plain);
    };
    using enum hardware::Software;
    plan.model.linear_bias = true;
    auto [fused, few, none] = kernels_of(megatron_lm);
    auto [apart, many, plain] = kernels_of(transformer_engine);
    const double local = 8.0 / plan.strategy.expert, copies = 2.0 * tokens;
    EXPECT_EQ(none[Phase::forward] + none[Phase::backward], 0);
    EXPECT_EQ(many[Phase::forward] - few[Phase::forward], 2 * local + 2 + 3);
    EXPECT_EQ(many[Phase::backward] - few[Phase::backward], 5 * local + 2 - 1 + 7);
    EXPECT_EQ(plain[Phase::forward] + plain[Phase::backward], 7 * local + 4 + 10);
    const double elements = copies * hidden, gated = 192.0 / hidden;  // what goes into the gate, of each copy's hidden
    const double clamps = (4 + 4) * gated, clamps_backward = (2 + 2 + 2 + 5 + 5 + 3) * gated / 2 + 4 * gated;
    EXPECT_NEAR((apart[Phase::forward] - fused[Phase::forward]) / elements, 4 + 12 + 8 + 6 + clamps, 0.5);
    EXPECT_NEAR((apart[Phase::backward] - fused[Phase::backward]) / elements,
                6 + 6 + 8 + 4 + 8 + 4 + 4 - 2 + clamps_backward, 0.5);
    plan.model.linear_bias = false;
    EXPECT_EQ(kernels_of(megatron_lm), kernels_of(transformer_engine)) << "neither biases nor clamps";
}

TEST(ExpertParallel, CapacityBoundsWhatIsSent) {
    Plan plan = moe_plan();
    const auto sent = [&] {
        validate(plan);
        return expert_shapes(experts_of(plan), plan).sent;
    };
    plan.training.expert_capacity = 1.5;
    EXPECT_EQ(sent(), 2 * tokens) << "balanced routers never reach it";
    plan.training.pad_to_capacity = true;
    EXPECT_EQ(sent(), 3 * tokens);
    plan.training.pad_to_capacity = false;
    plan.training.expert_capacity = 0.5;
    EXPECT_EQ(sent(), tokens) << "half of the copies are dropped";
}

/// Experts are reduced among the ranks that hold the same ones, everything else among all data ranks.
TEST(ExpertParallel, GradientsByGroup) {
    for (const bool sharded : {false, true}) {
        Plan plan = moe_plan(1, 1, 4, 2);
        if (sharded) plan.strategy.sharding = Sharding::zero1;
        const StepProgram step = build(plan);
        EXPECT_TRUE(verify(step).empty());
        const auto sums = collectives(step.programs[0]);
        const CollectiveKind kind = sharded ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
        const std::uint64_t experts = 4 * 4 * one_expert;  // four layers, half of eight
        const std::uint64_t all = models::parameters(models::build(plan.model)) + 24 * 64 * 2;  // vocabulary padded
        const std::uint64_t rest = all - 2 * experts;
        EXPECT_EQ(sums.at({kind, AxisSet{Axis::data}.bits()}).bytes, experts * 2);
        EXPECT_EQ(sums.at({kind, (AxisSet{Axis::expert, Axis::data}).bits()}).bytes, rest * 2);
        const StateBytes state = state_bytes(plan.training);
        const auto at_peak = memory(step, 0).at_peak;
        EXPECT_EQ(at_peak[static_cast<std::size_t>(Keep::weight)], (rest + experts) * state.weight);
        EXPECT_EQ(at_peak[static_cast<std::size_t>(Keep::optimizer)],
                  (sharded ? rest / 4 + experts / 2 : rest + experts) * state.optimizer);
    }
}

TEST(ExpertParallel, OneCopyOfTheExpertsIsNotReduced) {
    Plan plan = moe_plan();
    plan.strategy.overlap_grad_reduce = true;
    plan.strategy.sharding = Sharding::zero1;
    plan.strategy.overlap_param_gather = true;
    const StepProgram step = build(plan);
    EXPECT_TRUE(verify(step).empty());
    for (const auto& [key, sum] : collectives(step.programs[0]))
        EXPECT_NE(key.second, AxisSet{Axis::data}.bits()) << sum.calls;
}

/// The norm before them has three readers (router, experts, shared expert): two additions, the second behind the first
/// product of the shared expert.
TEST(ExpertParallel, GradientsOfASharedExpertMeetAtTheNorm) {
    Plan plan = moe_plan();
    const auto additions = [&] {
        const StepProgram step = build(plan);
        std::vector<std::string> names;
        for (const Op& op : step.blocks[4].ops)  // backward of the layers
            if (const std::string& name = step.names[op.label.name]; name.starts_with("sum ")) names.push_back(name);
        return names;
    };
    EXPECT_EQ(additions(),
              (std::vector<std::string>{"sum router gradient", "sum branch gradients", "sum branch gradients"}));
    plan.model.shared_expert_ffn = 48;
    EXPECT_EQ(additions(), (std::vector<std::string>{"sum router gradient", "sum expert gradients",
                                                     "sum branch gradients", "sum branch gradients"}));
}

/// Tied logits: the exchange between first and last stage waits for the reduction of the bucket that holds them, not
/// for that of the experts.
TEST(ExpertParallel, TheWordEmbeddingIsExchangedWhenItIsReduced) {
    Plan plan = moe_plan(1, 2, 2, 2);
    plan.model.tied_embeddings = true;
    const StepProgram step = build(plan);
    for (const Program& program : step.programs) {
        std::vector<BufferId> reduced;
        int exchanges = 0;
        for (const Op& op : program.ops) {
            const std::string& name = step.names[op.label.name];
            if (name == "gradient reduction") reduced.push_back(program.writes(op).front());
            if (name != "embedding gradient exchange") continue;
            ++exchanges;
            ASSERT_EQ(reduced.size(), 1U) << "one copy of the experts is not reduced";
            EXPECT_EQ(program.reads(op).front(), reduced.front());
        }
        EXPECT_EQ(exchanges, 2);
    }
}

TEST(ExpertParallel, EverySecondLayerHasExperts) {
    Plan plan = moe_plan(1, 2, 2, 2);
    plan.model.moe_layer_freq = 2;
    validate(plan);
    const StepProgram step = build(plan);
    EXPECT_TRUE(verify(step).empty());
    std::map<std::string, int> calls;
    for (const Op& op : step.programs[1].ops)
        if (const auto* call = std::get_if<Call>(&op.what)) ++calls[step.blocks[call->block].name];
    EXPECT_EQ(calls["moe block forward"], 4) << "of four micro-batches";
    EXPECT_EQ(calls["block forward"], 4);
}

TEST(ExpertParallel, InterleavedStepsAreSound) {
    Plan plan = moe_plan(2, 2, 4, 2);
    plan.strategy.schedule = ScheduleKind::interleaved;
    plan.strategy.virtual_pipeline = 2;
    plan.strategy.recompute = Recompute::selective;
    plan.strategy.sharding = Sharding::zero1;
    plan.strategy.overlap_grad_reduce = plan.strategy.overlap_param_gather = true;
    validate(plan);
    EXPECT_TRUE(verify(build(plan)).empty());
    EXPECT_TRUE(verify(unrolled(build(plan))).empty());
}

TEST(ExpertParallel, IllegalPlansNameTheirKey) {
    const auto pointer = [](Plan plan, const std::function<void(Plan&)>& change) {
        change(plan);
        return refused_at(plan);
    };
    EXPECT_EQ(pointer(moe_plan(), [](Plan&) {}), "accepted");
    EXPECT_EQ(pointer(tiny_plan(1, 1, 4), [](Plan& p) { p.strategy.expert = 2; }), "/strategy/expert");
    EXPECT_EQ(pointer(tiny_plan(), [](Plan& p) { p.training.expert_capacity = 1; }),
              "/training/moe_expert_capacity_factor");
    EXPECT_EQ(pointer(tiny_plan(), [](Plan& p) { p.strategy.expert_tensor = 1; }), "/strategy/expert_tensor");
    EXPECT_EQ(pointer(tiny_plan(), [](Plan& p) { p.training.pad_to_capacity = true; }),
              "/training/moe_pad_expert_input_to_capacity");
    EXPECT_EQ(pointer(moe_plan(), [](Plan& p) { p.strategy.expert = 0; }), "/strategy/expert");
    EXPECT_EQ(pointer(moe_plan(), [](Plan& p) { p.strategy.expert = 3; }), "/strategy/expert");
    EXPECT_EQ(pointer(moe_plan(), [](Plan& p) { p.strategy.expert = 8; }), "/strategy/expert") << "of four data ranks";
    EXPECT_EQ(pointer(moe_plan(2), [](Plan& p) { p.strategy.sequence_parallel = false; }),
              "/strategy/sequence_parallel");
    EXPECT_EQ(pointer(moe_plan(4), [](Plan& p) { p.strategy.expert_tensor = 2; }), "/strategy/tensor")
        << "four tensor ranks of two key-value heads come first";
    EXPECT_EQ(pointer(moe_plan(2), [](Plan& p) { p.strategy.expert_tensor = 4; }), "/strategy/expert_tensor");
    EXPECT_EQ(pointer(moe_plan(2, 1, 4, 1), [](Plan& p) { p.strategy.expert_tensor = 1; }), "/strategy/expert");
    EXPECT_EQ(pointer(moe_plan(2), [](Plan& p) { p.model.expert_ffn = 33; }), "/strategy/tensor");
    EXPECT_EQ(pointer(moe_plan(), [](Plan& p) { p.training.pad_to_capacity = true; }),
              "/training/moe_pad_expert_input_to_capacity");
}

/// Both add no bias, and read zeros in its place.
TEST(Experts, BesideASharedOneOfAnotherWidthReadAsManyZerosAsTheyNeed) {
    Plan plan = moe_plan(1, 1, 2, 2);
    plan.training.fused_attention = true;
    plan.model.gated = false;
    plan.model.activation = models::ActivationKind::gelu;
    for (const std::uint32_t shared : {32U, 256U}) {
        plan.model.shared_expert_ffn = shared;
        validate(plan);
        EXPECT_EQ(verify(build(plan)), std::vector<std::string>{}) << shared;
    }
}

/// What real execution refuses is not held against contracts: shares of tokens that are not whole, tokens that experts
/// have no room for, and room that they do not fill.
TEST(Experts, UnevenSharesArePricedAlone) {
    const auto is_complete = [](const auto& change) {
        Plan plan = moe_plan(1, 1, 2, 2);
        plan.training.fused_attention = true;
        change(plan);
        validate(plan);
        EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
        return shard(models::build(plan.model).layer("moe block"), plan).flow.complete;
    };
    EXPECT_TRUE(is_complete([](Plan& /*plan*/) {}));
    EXPECT_FALSE(is_complete([](Plan& plan) {
        plan.training.seq = plan.training.micro_batch = 3;
        plan.training.global_batch = 6;
    }));
    EXPECT_FALSE(is_complete([](Plan& plan) { plan.training.expert_capacity = 0.5; }));
    EXPECT_FALSE(is_complete([](Plan& plan) {
        plan.training.expert_capacity = 1.5;
        plan.training.pad_to_capacity = true;
    }));
}

}  // namespace
}  // namespace orrery::strategies
