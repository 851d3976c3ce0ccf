// Ranks that share sequences: keys and values go around a ring or are gathered, or heads are exchanged for attention.
#include "tests/run/agreement.hpp"
#include "tests/run/every_mesh.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::Recompute;
using strategies::ScheduleKind;
using strategies::Sharding;

using strategies::ContextExchange;

void context(Plan& p, std::uint32_t ranks, ContextExchange exchange = ContextExchange::a2a) {
    p.strategy.context = ranks;
    p.strategy.context_exchange = exchange;
}

const Case context_cases[]{
    {"Context2", [](Plan& p) { context(p, 2); }},
    {"OneSequence",
     [](Plan& p) {
         context(p, 2);
         p.training.micro_batch = 1;
     }},
    {"SelectiveRecompute",
     [](Plan& p) {
         context(p, 2);
         p.strategy.recompute = Recompute::selective;
     }},
    {"FullRecompute",
     [](Plan& p) {
         context(p, 2);
         p.strategy.recompute = Recompute::full;
     }},
    {"Offload",
     [](Plan& p) {
         context(p, 2);
         p.strategy.cpu_offloading_num_layers = 2;
     }},
    {"Zero1",
     [](Plan& p) {
         context(p, 2);
         p.strategy.sharding = Sharding::zero1;
     }},
    {"Data2Zero3",
     [](Plan& p) {
         context(p, 2);
         p.strategy.data = 2;
         p.strategy.sharding = Sharding::zero3;
     }},
    {"Pipeline2",
     [](Plan& p) {
         context(p, 2);
         p.strategy.pipeline = 2;
     }},
    {"ZeroBubble",
     [](Plan& p) {
         context(p, 2);
         p.strategy.pipeline = 2;
         p.strategy.schedule = ScheduleKind::zb_h1;
     }},
};

/// Of the keys of other ranks, by the ring or all at once.
template <ContextExchange exchange>
const std::vector<Case>& key_cases() {
    static const std::vector<Case> cases{
        {"Context2", [](Plan& p) { context(p, 2, exchange); }},
        {"Context4", [](Plan& p) { context(p, 4, exchange); }},
        {"Context4OneSequence",
         [](Plan& p) {
             context(p, 4, exchange);
             p.training.micro_batch = 1;
         }},
        {"Context2Sequence2",
         [](Plan& p) {
             context(p, 2, exchange);
             p.strategy.tensor = 2;
             p.strategy.sequence_parallel = true;
         }},
        {"SelectiveRecompute",
         [](Plan& p) {
             context(p, 4, exchange);
             p.strategy.recompute = Recompute::selective;
         }},
        {"FullRecompute",
         [](Plan& p) {
             context(p, 2, exchange);
             p.strategy.recompute = Recompute::full;
         }},
        {"Offload",
         [](Plan& p) {
             context(p, 2, exchange);
             p.strategy.cpu_offloading_num_layers = 2;
         }},
        {"Data2Zero1",
         [](Plan& p) {
             context(p, 2, exchange);
             p.strategy.data = 2;
             p.strategy.sharding = Sharding::zero1;
         }},
        {"Data2Zero3",
         [](Plan& p) {
             context(p, 2, exchange);
             p.strategy.data = 2;
             p.strategy.sharding = Sharding::zero3;
         }},
        {"Pipeline2ZeroBubble",
         [](Plan& p) {
             context(p, 2, exchange);
             p.strategy.pipeline = 2;
             p.strategy.schedule = ScheduleKind::zb_h1;
         }},
    };
    return cases;
}

INSTANTIATE_TEST_SUITE_P(Context, EveryMesh, testing::ValuesIn(context_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Context, InSixteenBits, testing::ValuesIn(context_cases), name_of);
INSTANTIATE_TEST_SUITE_P(Ring, EveryMesh, testing::ValuesIn(key_cases<ContextExchange::p2p>()), name_of);
INSTANTIATE_TEST_SUITE_P(Ring, InSixteenBits, testing::ValuesIn(key_cases<ContextExchange::p2p>()), name_of);
/// Two pairs of ranks that exchange heads.
template <auto change>
void two_pairs(Plan& p) {
    context(p, 4, ContextExchange::a2a_p2p);
    p.strategy.ulysses_degree = 2;
    change(p);
}

const Case hybrid_cases[]{
    {"Context4", two_pairs<[](Plan&) {}>},
    {"OneSequence", two_pairs<[](Plan& p) { p.training.micro_batch = 1; }>},
    {"SelectiveRecompute", two_pairs<[](Plan& p) { p.strategy.recompute = Recompute::selective; }>},
    {"FullRecompute", two_pairs<[](Plan& p) { p.strategy.recompute = Recompute::full; }>},
    {"Offload", two_pairs<[](Plan& p) { p.strategy.cpu_offloading_num_layers = 2; }>},
    {"Data2Zero3", two_pairs<[](Plan& p) {
         p.strategy.data = 2;
         p.strategy.sharding = Sharding::zero3;
     }>},
    {"Pipeline2ZeroBubble", two_pairs<[](Plan& p) {
         p.strategy.pipeline = 2;
         p.strategy.schedule = ScheduleKind::zb_h1;
     }>},
};
INSTANTIATE_TEST_SUITE_P(RingOfExchanges, EveryMesh, testing::ValuesIn(hybrid_cases), name_of);
INSTANTIATE_TEST_SUITE_P(RingOfExchanges, InSixteenBits, testing::ValuesIn(hybrid_cases), name_of);
INSTANTIATE_TEST_SUITE_P(GatheredKeys, EveryMesh, testing::ValuesIn(key_cases<ContextExchange::all_gather>()), name_of);
INSTANTIATE_TEST_SUITE_P(GatheredKeys, InSixteenBits, testing::ValuesIn(key_cases<ContextExchange::all_gather>()),
                         name_of);

void expect_the_reference(const Plan& plan) {
    const auto& reference = reference_of(plan.model);
    expect_losses(train(plan, fast(), steps), reference, single_error);
    expect_gradient_elements(train(plan, fast(), 1), reference.front(), plan.training.grad_clip, single_error);
}

/// A head for each of four ranks, which hold two tokens that are not neighbours.
TEST(ContextMeshes, ShareHeadsWithTensorRanks) {
    for (const bool sequence : {false, true}) {
        Plan plan = plan_of(small_gpt());
        context(plan, 2);
        plan.strategy.tensor = 2;
        plan.strategy.sequence_parallel = sequence;
        expect_the_reference(plan);
    }
    Plan plan = plan_of(small_gpt());
    context(plan, 4);
    expect_the_reference(plan);
    two_pairs<[](Plan& p) { p.strategy.tensor = 2; }>(plan);
    expect_the_reference(plan);
}

/// Three ranks, an odd number of them, and their parts of twelve tokens.
TEST(ContextMeshes, GoAroundAnOddRing) {
    Plan plan = plan_of(small_llama());
    plan.training.seq = 12;
    const auto reference = train_reference(plan, fast(), 1);
    for (const ContextExchange exchange : {ContextExchange::p2p, ContextExchange::all_gather}) {
        context(plan, 3, exchange);
        expect_gradient_elements(train(plan, fast(), 1), reference.front(), plan.training.grad_clip, single_error);
    }
}

/// Every token sees every other.
TEST(ContextMeshes, TrainWithoutAMask) {
    Plan plan = plan_of(small_llama());
    plan.model.name = "llama, both ways";
    plan.model.causal = false;
    for (const ContextExchange exchange : {ContextExchange::a2a, ContextExchange::p2p, ContextExchange::all_gather}) {
        context(plan, 2, exchange);
        expect_the_reference(plan);
    }
    context(plan, 4, ContextExchange::p2p);
    expect_the_reference(plan);
    context(plan, 4, ContextExchange::a2a_p2p);
    plan.strategy.ulysses_degree = 2;
    expect_the_reference(plan);
}

}  // namespace
}  // namespace orrery::run
