// Tensor ranks that divide matrices both ways: what the papers count, and what a plan must be.
#include "strategies/tensor_grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "strategies/ownership.hpp"
#include "strategies/rank_placement.hpp"
#include "strategies/stage.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::CollectiveKind;

constexpr std::uint64_t seq = 128, batch = 16, hidden = 64, bytes = 2;

/// Words that 64 ranks divide, whatever the rank number is: comparisons are of the same work.
Plan on_grid(TensorMode mode, std::uint32_t tensor, std::uint32_t depth = 1) {
    Plan plan = tiny_plan(tensor);
    plan.model.vocab = 8192;
    plan.model.vocab_multiple = 1;
    plan.training.micro_batch = batch;
    plan.training.global_batch = 4 * batch;
    plan.strategy.tensor_mode = mode;
    plan.strategy.tensor_depth = depth;
    return plan;
}

struct Grid {
    TensorMode mode;
    std::uint32_t tensor, depth;
};
constexpr Grid grids[]{{TensorMode::two_d, 4, 1},          {TensorMode::two_d, 16, 1},
                       {TensorMode::two_and_half_d, 8, 2}, {TensorMode::two_and_half_d, 16, 4},
                       {TensorMode::three_d, 8, 1},        {TensorMode::three_d, 64, 1}};

std::string name(const Grid& grid) {
    return std::string(tensor_mode_names[grid.mode]) + " of " + std::to_string(grid.tensor) + ", depth " +
           std::to_string(grid.depth);
}

ShardedLayer sharded(const Plan& plan) { return shard(models::build(plan.model).layer("block"), plan); }

Stage stage_of(const Plan& plan) {
    StepProgram step;
    Intern intern(step);
    return place_layers(add_model_blocks(step, intern, plan), plan, 0);
}

/// Bytes of a layer's collectives, by kind and axes.
using Moved = std::map<std::pair<CollectiveKind, std::string>, std::uint64_t>;
Moved moved(const ShardedLayer& layer, std::vector<Work> Piece::*direction) {
    Moved sums;
    for (const Piece& piece : layer.pieces)
        for (const Work& work : piece.*direction)
            if (const auto* collective = std::get_if<LayerCollective>(&work.what))
                sums[{collective->kind, to_text(collective->group)}] += collective->bytes;
    return sums;
}

TEST(TensorGrid, IsASquareSquaresOrACube) {
    EXPECT_EQ(grid_of(TensorMode::two_d, 16, 1), (TensorGrid{TensorMode::two_d, 4, 4, 1}));
    EXPECT_EQ(grid_of(TensorMode::two_and_half_d, 32, 2), (TensorGrid{TensorMode::two_and_half_d, 4, 4, 2}));
    EXPECT_EQ(grid_of(TensorMode::three_d, 64, 1), (TensorGrid{TensorMode::three_d, 4, 4, 4}));
    EXPECT_FALSE(grid_of(TensorMode::one_d, 16, 1).divides());
    EXPECT_FALSE(grid_of(TensorMode::two_d, 1, 1).divides());
    const Mesh mesh = on_grid(TensorMode::two_and_half_d, 8, 2).mesh();
    EXPECT_EQ(mesh.ranks(), 8U);
    EXPECT_EQ(mesh.group(5, {Axis::tensor_row}), (std::vector<std::uint32_t>{4, 5}));
    EXPECT_EQ(mesh.group(5, {Axis::tensor_column}), (std::vector<std::uint32_t>{5, 7}));
    EXPECT_EQ(mesh.group(5, {Axis::tensor_depth}), (std::vector<std::uint32_t>{1, 5}));
}

/// In an order of axes tp stands for all of them.
TEST(TensorGrid, StandsForTensorRanksInAnOrderOfAxes) {
    Plan plan = on_grid(TensorMode::two_d, 4);
    plan.strategy.data = 2;
    const Mesh mesh = plan.mesh();
    EXPECT_TRUE(named_placement("tp-dp", mesh, {1, 8}).linear());
    EXPECT_EQ(named_placement("dp-tp", mesh, {1, 8}).gpu(1), 2U);
    EXPECT_EQ(named_placement("tpc-tpr-dp", mesh, {1, 8}).gpu(1), 2U);
    for (const AxisOrder& order : axis_orders(mesh))
        EXPECT_EQ(std::ranges::find(order, Axis::tensor_row) + 1, std::ranges::find(order, Axis::tensor_column));
    EXPECT_EQ(axis_orders(mesh).size(), 2U) << "of data ranks and of the grid";
}

TEST(TensorGrid, ComputesWhatOneRankDoes) {
    const double whole = kernel_flops(build(on_grid(TensorMode::one_d, 1)));
    for (const Grid& grid : grids)
        for (const bool fused : {false, true}) {
            Plan plan = on_grid(grid.mode, grid.tensor, grid.depth), one = on_grid(TensorMode::one_d, 1);
            plan.training.fused_attention = one.training.fused_attention = fused;
            validate(plan);
            const double all = fused ? kernel_flops(build(one)) : whole;
            EXPECT_NEAR(grid.tensor * kernel_flops(build(plan)) / all, 1, 1e-12) << name(grid);
        }
}

/// Of a cube's few numbers that are not in matrices every rank with the same columns has all.
TEST(TensorGrid, HoldsEachParameterOnce) {
    const std::uint64_t whole = stage_of(on_grid(TensorMode::one_d, 1)).counts.trained;
    for (const Grid& grid : grids) {
        const Plan plan = on_grid(grid.mode, grid.tensor, grid.depth);
        const Stage stage = stage_of(plan);
        const TensorGrid shape = plan.tensor_grid();
        const std::uint64_t blocks = (stage.counts.trained - stage.counts.replicated) * grid.tensor / shape.copies();
        EXPECT_EQ(blocks + stage.counts.replicated * shape.row, whole) << name(grid);
        EXPECT_EQ(stage.counts.replicated > 0, shape.cube());
    }
}

/// Optimus, table 1: forward log(p) / (2 sqrt(p)) (7 b s h + 12 h^2), a broadcast among q = sqrt(p) ranks costing log q
/// times its bytes; backward twice as much beside the forward that runs again. Tesseract: tokens by depth.
TEST(TensorGrid, SquaresBroadcastAndReduceWhatOptimusCounts) {
    for (const Grid& grid : grids) {
        const Plan plan = on_grid(grid.mode, grid.tensor, grid.depth);
        const TensorGrid shape = plan.tensor_grid();
        if (shape.cube()) continue;
        const ShardedLayer layer = sharded(plan);
        const std::uint64_t activations = 7 * batch * seq * hidden * bytes / shape.depth / shape.row,
                            weights = 12 * hidden * hidden * bytes / shape.row;
        const Moved forward = moved(layer, &Piece::forward), backward = moved(layer, &Piece::backward);
        const std::pair along_row{CollectiveKind::broadcast, std::string("tensor_row")},
            along_column{CollectiveKind::broadcast, std::string("tensor_column")};
        EXPECT_EQ(forward.at(along_row), activations) << name(grid);
        EXPECT_EQ(forward.at(along_column), weights) << name(grid);
        EXPECT_EQ(backward.at(along_row), 2 * activations) << name(grid);
        EXPECT_EQ(backward.at(along_column), 2 * weights) << name(grid);
        // Two norms: two numbers a token forward, two backward; gains and biases of them and of four products.
        const std::uint64_t numbers = 4 * batch * seq / shape.token_parts() * 4;
        EXPECT_EQ(forward.at({CollectiveKind::all_reduce, "tensor_row"}), numbers) << name(grid);
        EXPECT_EQ(backward.at({CollectiveKind::all_reduce, "tensor_row"}), numbers) << name(grid);
        const std::uint64_t vectors = (4 + 3 + 1 + 4 + 1) * hidden * bytes / shape.row;
        EXPECT_EQ(forward.at({CollectiveKind::all_gather, "tensor_column"}), vectors) << name(grid);
        EXPECT_EQ(backward.at({CollectiveKind::reduce_scatter, "tensor_column"}), vectors) << name(grid);
    }
}

/// Bian et al.: of each product three collectives forward and three backward, of a term of 1 / l^2 of each matrix.
TEST(TensorGrid, ACubeGathersAndScattersASquarePart) {
    for (const std::uint32_t tensor : {8U, 64U}) {
        const Plan plan = on_grid(TensorMode::three_d, tensor);
        const std::uint64_t square = std::uint64_t{plan.tensor_grid().row} * plan.tensor_grid().row;
        const std::uint64_t unit = batch * seq * hidden * bytes / square,
                            weights = 12 * hidden * hidden * bytes / square;
        const ShardedLayer layer = sharded(plan);
        Moved forward = moved(layer, &Piece::forward), backward = moved(layer, &Piece::backward);
        const auto both = [](Moved& sums, CollectiveKind kind) {
            return sums[{kind, "tensor_row"}] + sums[{kind, "tensor_column"}];
        };
        const auto depth = [](Moved& sums, CollectiveKind kind) { return sums[{kind, "tensor_depth"}]; };
        EXPECT_EQ(both(forward, CollectiveKind::all_gather), 7 * unit);
        EXPECT_EQ(both(forward, CollectiveKind::reduce_scatter), 9 * unit);
        EXPECT_EQ(depth(forward, CollectiveKind::all_gather), weights);
        EXPECT_EQ(both(backward, CollectiveKind::all_gather), 9 * unit);
        EXPECT_EQ(both(backward, CollectiveKind::reduce_scatter), 7 * unit);
        EXPECT_EQ(depth(backward, CollectiveKind::reduce_scatter), weights);
        EXPECT_FALSE(forward.contains({CollectiveKind::broadcast, "tensor_row"}));
    }
}

/// Blocks of a step come beside the product of the step before; of SUMMA's first and of a product's last nothing hides.
TEST(TensorGrid, BlocksComeBesideTheProductBefore) {
    const StepProgram step = build(on_grid(TensorMode::two_d, 16));
    std::uint32_t products = 0, beside = 0;
    for (const Op& op : std::ranges::find(step.blocks, "block forward", &Program::name)->ops) {
        if (const auto* compute = std::get_if<Compute>(&op.what))
            products += std::holds_alternative<kernels::Gemm>(step.kernels[compute->kernel]) &&
                                step.names[op.label.name] == "qkv"
                            ? 1
                            : 0;
        const auto* collective = std::get_if<Collective>(&op.what);
        if (collective != nullptr && collective->kind == CollectiveKind::broadcast)
            beside += op.lane == Lane::tensor ? 1 : 0;
    }
    EXPECT_EQ(products, 4U);
    EXPECT_EQ(beside, 4U * 2 * 4) << "four products of four steps, two blocks each";
}

TEST(TensorGrid, WithoutOverlapBlocksAreWaitedFor) {
    for (const Grid& grid : grids) {
        Plan plan = on_grid(grid.mode, grid.tensor, grid.depth);
        plan.strategy.async_tensor_allreduce = false;
        const StepProgram step = build(plan);
        EXPECT_TRUE(verify(step).empty()) << name(grid);
        for (const Program& block : step.blocks)
            EXPECT_TRUE(std::ranges::none_of(block.ops, [](const Op& op) { return op.lane == Lane::tensor; }));
    }
}

TEST(TensorGrid, DepthOneIsASquareAndOneRankIsNoGrid) {
    const auto text = [](const Plan& plan) { return to_text(build(plan), 0); };
    EXPECT_EQ(text(on_grid(TensorMode::two_and_half_d, 4, 1)), text(on_grid(TensorMode::two_d, 4)));
    for (const TensorMode mode : {TensorMode::two_d, TensorMode::two_and_half_d, TensorMode::three_d})
        EXPECT_EQ(text(on_grid(mode, 1)), text(on_grid(TensorMode::one_d, 1)));
}

/// What a square's rank keeps of a layer is its part of what one rank would, and so is what it needs in all, but for
/// the buffers of a step. A cube's keeps what it has gathered; where the forward runs again a layer's input alone is
/// kept.
TEST(TensorGrid, KeepsAPartOfEverything) {
    const ShardedLayer whole = sharded(on_grid(TensorMode::one_d, 1));
    for (const Grid& grid : grids) {
        const Plan plan = on_grid(grid.mode, grid.tensor, grid.depth);
        const ShardedLayer layer = sharded(plan);
        EXPECT_EQ(layer.input_bytes * grid.tensor, whole.input_bytes) << name(grid);
        const std::uint64_t side = plan.tensor_grid().row, tokens = batch * seq;
        // Inputs of products, h + h + h + 4 h, and weights, 12 h^2, in l^2 parts instead of l^3 and none.
        const std::uint64_t gathered =
            plan.tensor_grid().cube() ? 7 * tokens * hidden * bytes * (side - 1) + 12 * hidden * hidden * bytes * side
                                      : 0;
        EXPECT_EQ(layer.saved_bytes() * grid.tensor, whole.saved_bytes() + gathered) << name(grid);
        EXPECT_EQ(layer.weight_saved_bytes() * grid.tensor, whole.weight_saved_bytes() + gathered) << name(grid);
    }
}

TEST(TensorGrid, MemoryFallsWithTheRanks) {
    const auto peak = [](TensorMode mode, std::uint32_t tensor) {
        Plan plan = on_grid(mode, tensor);
        plan.model.vocab = 1024;
        plan.model.layers = 32;
        plan.strategy.recompute = Recompute::full;
        return static_cast<double>(memory(build(plan), 0).peak);
    };
    EXPECT_NEAR(peak(TensorMode::two_d, 4) / peak(TensorMode::two_d, 16), 4, 0.4);
    EXPECT_NEAR(peak(TensorMode::two_d, 4) / peak(TensorMode::one_d, 1), 0.25, 0.05) << "with buffers of blocks";
    EXPECT_GT(peak(TensorMode::three_d, 8) / peak(TensorMode::three_d, 64), 5);
    EXPECT_GT(peak(TensorMode::one_d, 4) / peak(TensorMode::two_d, 4), 1.2) << "1d keeps whole activations";
}

/// Squares see other tokens and hold the same weights: they are reduced, and shard, as data ranks do.
TEST(TensorGrid, DepthSumsGradientsWithDataRanks) {
    for (const Sharding sharding : {Sharding::none, Sharding::zero1, Sharding::zero3}) {
        Plan plan = on_grid(TensorMode::two_and_half_d, 8, 2);
        plan.strategy.sharding = sharding;
        validate(plan);
        EXPECT_EQ(plan.data_group(), (AxisSet{Axis::tensor_depth, Axis::data}));
        const StepProgram step = build(plan);
        std::uint64_t summed = 0;
        for (const Op& op : step.programs[0].ops) {
            const auto* collective = std::get_if<Collective>(&op.what);
            if (collective != nullptr && collective->group.has(Axis::tensor_depth) &&
                !collective->group.has(Axis::tensor_row) &&
                (collective->kind == CollectiveKind::all_reduce || collective->kind == CollectiveKind::reduce_scatter))
                summed += collective->bytes;
        }
        const std::uint64_t all = stage_of(plan).counts.trained * 2;
        EXPECT_EQ(summed, sharding == Sharding::zero3 ? all * plan.micro_batches() : all);
        const Ownership dense = ownership(plan, ParameterClass::dense);
        const Placement states = sharding == Sharding::none ? Placement::replicated : Placement::sharded_flat;
        EXPECT_EQ(dense.states[Axis::tensor_depth], states);
    }
}

/// Squares of one rank are data ranks by another name: nothing moves within a layer.
TEST(TensorGrid, DepthAloneDividesSequences) {
    const Plan plan = on_grid(TensorMode::two_and_half_d, 2, 2);
    validate(plan);
    const StepProgram step = build(plan), one = build(on_grid(TensorMode::one_d, 1));
    EXPECT_TRUE(verify(step).empty());
    EXPECT_NEAR(2 * kernel_flops(step) / kernel_flops(one), 1, 1e-12);
    EXPECT_EQ(stage_of(plan).counts.trained, stage_of(on_grid(TensorMode::one_d, 1)).counts.trained);
    EXPECT_TRUE(moved(sharded(plan), &Piece::forward).empty());
}

TEST(TensorGrid, ProgramsAreSoundBesideOtherStrategies) {
    const std::vector<std::function<void(Plan&)>> changes{
        [](Plan&) {},
        [](Plan& p) { p.strategy.sharding = Sharding::zero1; },
        [](Plan& p) { p.strategy.sharding = Sharding::zero3; },
        [](Plan& p) { p.strategy.recompute = Recompute::selective; },
        [](Plan& p) { p.strategy.recompute = Recompute::full; },
        [](Plan& p) { p.strategy.pipeline = 2; },
        [](Plan& p) {
            p.strategy.pipeline = 2;
            p.strategy.schedule = ScheduleKind::zb_h1;
        },
        [](Plan& p) { p.strategy.cpu_offloading_num_layers = 2; },
        [](Plan& p) { p.training.cross_entropy_fusion = false; },
        [](Plan& p) {
            p.model = tiny_llama();
            p.model.heads = p.model.kv_heads = 4;
        },
        [](Plan& p) { p.training.fp32_residual_connection = true; },
    };
    for (const Grid& grid : grids)
        for (std::size_t i = 0; i < changes.size(); ++i) {
            Plan plan = on_grid(grid.mode, grid.tensor, grid.depth);
            plan.strategy.data = 2;
            plan.training.global_batch *= 2;
            changes[i](plan);
            if (plan.model.ffn == 192 && plan.tensor_grid().row == 4) plan.model.ffn = 256;
            validate(plan);
            const auto problems = verify(build(plan));
            EXPECT_TRUE(problems.empty()) << name(grid) << ", change " << i << ": " << problems.front();
        }
}

/// A stage sends its block: a part of the tensor as large as the others', with nothing to gather behind it.
TEST(TensorGrid, StagesSendTheirBlocks) {
    for (const Grid& grid : grids)
        for (const bool scatter : {false, true}) {
            Plan plan = on_grid(grid.mode, grid.tensor, grid.depth);
            plan.strategy.pipeline = 2;
            plan.strategy.scatter_gather = scatter;
            plan.model.tied_embeddings = false;
            const StepProgram step = build(plan);
            for (const Op& op : step.programs[0].ops)
                if (const auto* send = std::get_if<Send>(&op.what)) {
                    EXPECT_EQ(send->bytes * grid.tensor, batch * seq * hidden * bytes) << name(grid);
                }
        }
}

struct Refusal {
    const char* pointer;
    void (*change)(Plan&);
};
const Refusal refusals[]{
    {"/strategy/tensor", [](Plan& p) { p.strategy.tensor = 8; }},
    {"/strategy/tensor",
     [](Plan& p) {
         p.strategy.tensor_mode = TensorMode::three_d;
         p.strategy.tensor = 16;
     }},
    {"/strategy/tensor",
     [](Plan& p) {
         p.strategy.tensor_mode = TensorMode::two_and_half_d;
         p.strategy.tensor_depth = 4;
         p.strategy.tensor = 8;
     }},
    {"/strategy/tensor", [](Plan& p) { p.strategy.tensor = 64; }},  // more a side than heads
    {"/strategy/tensor", [](Plan& p) { p.model.ffn = 258; }},
    {"/strategy/tensor_depth", [](Plan& p) { p.strategy.tensor_depth = 2; }},
    {"/strategy/tensor_depth",
     [](Plan& p) {
         p.strategy.tensor_mode = TensorMode::two_and_half_d;
         p.strategy.tensor_depth = 8;
     }},
    {"/training/micro_batch_size", [](Plan& p) { p.training.micro_batch = 3; }},
    {"/strategy/tensor_mode", [](Plan& p) { p.model = tiny_bert(); }},
    {"/strategy/tensor_mode", [](Plan& p) { p.model.parallel_residual = true; }},
    {"/strategy/tensor_mode",
     [](Plan& p) {
         p.model = tiny_llama();
         p.model.qk_norm = true;
     }},
    {"/strategy/tensor_mode", [](Plan& p) { p.model.further_tokens = 1; }},
    {"/strategy/tensor_mode",
     [](Plan& p) {
         p.model.experts = 8;
         p.model.experts_per_token = 2;
         p.model.expert_ffn = 96;
         p.model.moe_layer_freq = 1;
     }},
    {"/strategy/sequence_parallel", [](Plan& p) { p.strategy.sequence_parallel = true; }},
    {"/strategy/context", [](Plan& p) { p.strategy.context = 2; }},
    {"/strategy/compression", [](Plan& p) { p.strategy.compression = Compression::onebit_adam; }},
    {"/strategy/sharding", [](Plan& p) { p.strategy.quantized_weights = true; }},
    {"/training/precision", [](Plan& p) { p.training.precision.compute = kernels::Dtype::fp8; }},
    {"/training/lora_rank", [](Plan& p) { p.training.lora_rank = 8; }},
    {"/training/optimizer", [](Plan& p) { p.training.optimizer = Optimizer::muon; }},
    {"/training/broadcast_data", [](Plan& p) { p.training.broadcast_data = true; }},
    {"/training/kernel_fusion", [](Plan& p) { p.training.kernel_fusion = KernelFusion::primitives; }},
};

TEST(TensorGrid, RefusesByKey) {
    for (const Refusal& refusal : refusals) {
        Plan plan = on_grid(TensorMode::two_d, 4);
        ASSERT_EQ(refused_at(plan), "accepted");
        refusal.change(plan);
        EXPECT_EQ(refused_at(plan), refusal.pointer);
    }
}

TEST(TensorGrid, NamesTheNearestLegalRanks) {
    const auto hint = [](TensorMode mode, std::uint32_t tensor, std::uint32_t depth) {
        Plan plan = on_grid(mode, tensor, depth);
        try {
            validate(plan);
        } catch (const Error& error) {
            return error.hint();
        }
        return std::string("accepted");
    };
    EXPECT_EQ(hint(TensorMode::two_d, 8, 1), "nearest legal values: 4, 9");
    EXPECT_EQ(hint(TensorMode::two_and_half_d, 12, 2), "nearest legal values: 8, 18");
    EXPECT_EQ(hint(TensorMode::three_d, 16, 1), "nearest legal values: 8, 27");
    EXPECT_EQ(hint(TensorMode::two_d, 64, 1), "nearest legal value: 16") << "four heads";
}

}  // namespace
}  // namespace orrery::strategies
