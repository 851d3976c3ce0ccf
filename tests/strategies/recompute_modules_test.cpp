// Selective recomputation by modules: what runs again, what is not kept, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "models/catalog.hpp"
#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/layer_blocks.hpp"
#include "strategies/reruns.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

/// A layer with latent attention, experts and an MLP that every token takes.
Plan latent_plan() {
    Plan plan = tiny_plan(1, 1);
    plan.model = models::find("deepseek-v3");
    plan.model.layers = 4;
    plan.model.dense_layers = 1;
    plan.training.fused_attention = true;
    return plan;
}

ShardedLayer sharded(const Plan& plan, const char* name) { return shard(models::build(plan.model).layer(name), plan); }

std::map<std::string, int> run_again(const Plan& plan, const char* name, ModuleSet modules) {
    StepProgram step;
    Intern intern(step);
    const LayerBlocks blocks = add_blocks(step, intern, sharded(plan, name), {Recompute::selective, modules});
    std::map<std::string, int> names;
    for (const Op& op : step.blocks[blocks.backward].ops)
        if (op.label.phase == Phase::recompute) ++names[step.names[op.label.name]];
    return names;
}

std::uint64_t saved(const Plan& plan, const char* name, ModuleSet modules) {
    StepProgram step;
    Intern intern(step);
    return add_blocks(step, intern, sharded(plan, name), {Recompute::selective, modules}).saved_bytes;
}

/// Bytes of a piece's input, by its name.
std::uint64_t input(const ShardedLayer& layer, const std::string& name) {
    for (const Piece& piece : layer.pieces)
        if (piece.name == name) return piece.input_bytes;
    ADD_FAILURE() << "no piece " << name;
    return 0;
}

using Names = std::map<std::string, int>;

TEST(RecomputeModules, RunTheirOwnPiecesAgain) {
    const Plan plan = latent_plan();
    EXPECT_EQ(run_again(plan, "moe block", Module::core_attn), (Names{{"attention", 1}}));
    EXPECT_EQ(run_again(plan, "moe block", Module::layernorm), (Names{{"attention_norm", 1}, {"mlp_norm", 1}}));
    EXPECT_EQ(run_again(plan, "moe block", Module::moe_act), (Names{{"experts swiglu", 1}}));
    EXPECT_EQ(run_again(plan, "moe block", Module::shared_experts), (Names{{"up", 1}, {"swiglu", 1}, {"down", 1}}));
    EXPECT_EQ(run_again(plan, "block", Module::mlp), (Names{{"up", 1}, {"swiglu", 1}, {"down", 1}}));
    EXPECT_EQ(run_again(plan, "moe block", Module::mlp), Names{}) << "its MLPs are experts'";
    EXPECT_EQ(run_again(plan, "moe block", Module::mla_up_proj),
              (Names{{"latent_norm", 1}, {"queries", 1}, {"keys_values", 1}, {"rope", 1}}));
    const Names experts = run_again(plan, "moe block", Module::moe);
    for (const char* name : {"router", "experts up", "experts down", "up", "down"})
        EXPECT_EQ(experts.count(name), 1U) << name;
    EXPECT_EQ(experts.count("mlp_norm"), 0U);
}

/// PyTorch raises where the last product's input is saved again: neither it nor its sum over ranks runs. Where hidden
/// states are dropped behind it, the mask is what is saved last.
TEST(RecomputeEarlyStop, LeavesOutTheLastProductAlone) {
    const auto again = [](const Plan& plan, bool early) {
        StepProgram step;
        Intern intern(step);
        const ShardedLayer layer = shard(models::build(plan.model).layer("block"), plan);
        const LayerBlocks blocks = add_blocks(step, intern, layer, {Recompute::full, Module::core_attn, early});
        std::map<std::string, int> names;
        for (const Op& op : step.blocks[blocks.backward].ops)
            if (op.label.phase == Phase::recompute) ++names[step.names[op.label.name]];
        return names;
    };
    Plan plan = tiny_plan(2, 1);
    plan.model.dropout = 0;
    std::map<std::string, int> all = again(plan, false), early = again(plan, true);
    EXPECT_EQ(all.at("down"), 1);
    EXPECT_EQ(early.count("down") + early.count("down reduce"), 0U);
    for (const char* name : {"qkv", "projection", "projection reduce", "up", "gelu"})
        EXPECT_EQ(early.at(name), all.at(name)) << name;
    EXPECT_GE(all.size(), early.size() + 2);
    plan.model.dropout = 0.1;
    EXPECT_EQ(again(plan, true), again(plan, false));
}

/// So does a module, of whose input its backward needs what the last product took.
TEST(RecomputeEarlyStop, LeavesOutTheLastProductOfAModule) {
    Plan plan = tiny_plan(2, 1);
    plan.model.dropout = 0;
    const auto program = [&](bool early) {
        StepProgram step;
        Intern intern(step);
        const ShardedLayer layer = shard(models::build(plan.model).layer("block"), plan);
        const LayerBlocks blocks = add_blocks(step, intern, layer, {Recompute::selective, Module::mlp, early});
        Names names;
        for (const Op& op : step.blocks[blocks.backward].ops)
            if (op.label.phase == Phase::recompute) ++names[step.names[op.label.name]];
        return std::pair(names, blocks.saved_bytes);
    };
    const auto [all, kept] = program(false);
    const auto [early, kept_early] = program(true);
    EXPECT_EQ(all.at("down"), 1);
    EXPECT_EQ(early, (Names{{"up", 1}, {"gelu", 1}}));
    EXPECT_EQ(kept_early, kept);
}

TEST(RecomputeEarlyStop, ProgramsHoldTogetherAndRunLessAgain) {
    for (const bool experts : {false, true}) {
        Plan plan = experts ? latent_plan() : tiny_plan(2, 2, 1);
        plan.strategy.recompute = Recompute::full;
        plan.model.dropout = 0;
        const auto again = [&](bool early) {
            plan.strategy.recompute_early_stop = early;
            const StepProgram step = build(plan);
            EXPECT_EQ(verify(step), std::vector<std::string>{});
            std::ptrdiff_t ops = 0;
            for (const Program& block : step.blocks)
                ops += std::ranges::count(block.ops, Phase::recompute, [](const Op& op) { return op.label.phase; });
            return ops;
        };
        EXPECT_GT(again(true), 0);
        EXPECT_LT(again(true), again(false));
    }
}

/// A norm's output goes: the inputs of the linear layers behind it. An activation's: the input of the second product.
TEST(RecomputeModules, KeepWhatTheyTakeAlone) {
    const Plan plan = latent_plan();
    for (const char* name : {"block", "moe block"}) {
        const ShardedLayer layer = sharded(plan, name);
        const std::uint64_t all = layer.saved_bytes();
        EXPECT_EQ(saved(plan, name, Module::layernorm), all - input(layer, "latent") - input(layer, "up"));
    }
    const ShardedLayer layer = sharded(plan, "moe block");
    const std::uint64_t all = layer.saved_bytes();
    EXPECT_EQ(saved(plan, "moe block", Module::moe_act), all - input(layer, "experts down"));
    const std::uint64_t inside = input(layer, "queries") + input(layer, "keys_values");
    EXPECT_EQ(saved(plan, "moe block", Module::mla_up_proj), all - inside - input(layer, "attention core"));
    const ShardedLayer dense = sharded(plan, "block");
    EXPECT_EQ(saved(plan, "block", Module::mlp), dense.saved_bytes() - input(dense, "swiglu") - input(dense, "down"));
}

/// What a module brings back lives until the last backward that needs it; nothing is brought back twice.
TEST(RecomputeModules, EveryDroppedTensorIsBroughtBackOnce) {
    const Plan plan = latent_plan();
    for (unsigned bits = 1; bits < 1U << module_names.size(); ++bits) {
        ModuleSet modules;
        for (std::size_t i = 0; i < module_names.size(); ++i)
            if ((bits >> i & 1U) != 0) modules |= static_cast<Module>(i);
        for (const auto& [name, early] :
             {std::pair{"block", false}, {"moe block", false}, {"block", true}, {"moe block", true}}) {
            const ShardedLayer layer = sharded(plan, name);
            const Reruns found = reruns(layer, modules, early);
            std::vector<int> brought(layer.pieces.size());
            std::size_t before = layer.pieces.size();
            for (const Rerun& rerun : found.list) {
                EXPECT_LE(rerun.before, before) << "a backward comes to the last first";
                before = rerun.before;
                EXPECT_GE(rerun.before + 1, rerun.last);
                for (const std::size_t piece : rerun.brings) {
                    ++brought[piece];
                    EXPECT_LE(piece, rerun.before) << layer.pieces[piece].name << " is needed earlier";
                }
            }
            for (std::size_t i = 0; i < layer.pieces.size(); ++i) {
                EXPECT_EQ(brought[i], found.dropped[i] > 0 ? 1 : 0) << layer.pieces[i].name;
                EXPECT_LE(found.dropped[i], layer.pieces[i].saved_bytes);
            }
        }
    }
}

TEST(RecomputeModules, AreNamedBetweenCommasOrBlanks) {
    EXPECT_EQ(modules_named("layernorm, moe_act"), ModuleSet(Module::layernorm) | Module::moe_act);
    EXPECT_EQ(modules_named("core_attn"), ModuleSet(Module::core_attn));
    EXPECT_FALSE(modules_named("layernorms"));
    EXPECT_FALSE(modules_named(" , "));
}

TEST(RecomputeModules, AreRefusedWhereTheyMeanNothing) {
    Plan plan = tiny_plan(1, 1);
    plan.strategy.recompute_modules = "layernorm";
    EXPECT_EQ(refused_at(plan), "/strategy/recompute_modules") << "nothing is recomputed";
    plan.strategy.recompute = Recompute::selective;
    EXPECT_EQ(refused_at(plan), "accepted");
    plan.strategy.recompute_modules = "layernorm,everything";
    EXPECT_EQ(refused_at(plan), "/strategy/recompute_modules");
    plan.strategy.recompute_modules = "layernorm";
    plan.strategy.schedule = ScheduleKind::zb_h1;
    EXPECT_EQ(refused_at(plan), "accepted") << "a backward in two parts";
}

}  // namespace
}  // namespace orrery::strategies
