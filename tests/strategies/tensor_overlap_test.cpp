// Tensor-parallel collectives in parts beside products: what each block holds, and in what order.
#include "strategies/tensor_overlap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <variant>
#include <vector>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::CollectiveKind;

constexpr std::uint64_t residual_bytes = 128 * 2 * 64 * 2;  // s b h in bf16

Plan overlapped(std::uint32_t tensor = 4) {
    Plan plan = tiny_plan(tensor);
    plan.strategy.sequence_parallel = plan.strategy.tensor_comm_overlap = true;
    return plan;
}

const Program& block(const StepProgram& step, std::string_view name) {
    return *std::ranges::find(step.blocks, name, &Program::name);
}

struct Moved {
    std::uint32_t calls = 0, beside = 0;
    std::uint64_t bytes = 0;
    bool operator==(const Moved&) const = default;
};
std::map<CollectiveKind, Moved> moved(const Program& program) {
    std::map<CollectiveKind, Moved> sums;
    for (const Op& op : program.ops)
        if (const auto* c = std::get_if<Collective>(&op.what)) {
            Moved& sum = sums[c->kind];
            ++sum.calls;
            sum.beside += op.lane == Lane::tensor ? 1 : 0;
            sum.bytes += c->bytes;
        }
    return sums;
}

/// Two rings of three messages each, a quarter of the residual stream, and two products whose outputs are scattered in
/// four parts, three of them beside the next part.
TEST(TensorOverlap, ForwardPassesOnInRingsAndScattersInParts) {
    const StepProgram step = build(overlapped());
    EXPECT_TRUE(verify(step).empty());
    const auto forward = moved(block(step, "block forward"));
    EXPECT_EQ(forward.at(CollectiveKind::send_recv), (Moved{6, 6, 6 * residual_bytes / 4}));
    EXPECT_EQ(forward.at(CollectiveKind::reduce_scatter), (Moved{8, 6, 2 * residual_bytes}));
    EXPECT_FALSE(forward.contains(CollectiveKind::all_gather));
}

/// Norms of queries and keys, and rotations, take each of a product's parts; a parallel residual has one sum.
TEST(TensorOverlap, LayersThatTakeAProductApartAreWritten) {
    for (const bool parallel : {false, true}) {
        Plan plan = overlapped(2);
        plan.model = tiny_llama();
        plan.model.qk_norm = !parallel;
        plan.model.parallel_residual = parallel;
        const StepProgram step = build(plan);
        EXPECT_TRUE(verify(step).empty()) << parallel;
        EXPECT_GT(moved(block(step, "block forward")).at(CollectiveKind::send_recv).calls, 0U);
        plan.strategy.tensor_comm_overlap = false;
        EXPECT_DOUBLE_EQ(kernel_flops(step), kernel_flops(build(plan)));
    }
}

/// Rings for the gradients behind the row-parallel products; the inputs of the column-parallel ones are gathered, and
/// their gradients scattered, whole. The last of a layer has nothing behind it.
TEST(TensorOverlap, BackwardPassesGradientsOnAndGathersInputsWhole) {
    const StepProgram step = build(overlapped());
    const auto backward = moved(block(step, "block backward"));
    EXPECT_EQ(backward.at(CollectiveKind::send_recv), (Moved{6, 6, 6 * residual_bytes / 4}));
    EXPECT_EQ(backward.at(CollectiveKind::all_gather), (Moved{2, 2, 2 * residual_bytes}));
    EXPECT_EQ(backward.at(CollectiveKind::reduce_scatter), (Moved{2, 2, 2 * residual_bytes}));
}

/// Products in parts are the whole ones: as many operations, of tokens of one rank or of a quarter of all.
TEST(TensorOverlap, ComputesWhatIsComputedWithout) {
    for (const std::uint32_t tensor : {2U, 4U}) {
        Plan plan = overlapped(tensor);
        const double parts = kernel_flops(build(plan));
        plan.strategy.tensor_comm_overlap = false;
        EXPECT_DOUBLE_EQ(parts, kernel_flops(build(plan))) << tensor;
    }
}

/// A product whose outputs are scattered in parts, and gradients beside whole collectives, leave multiprocessors to
/// them; rings are copies.
TEST(TensorOverlap, ProductsBesideKernelsOfCollectivesSpareMultiprocessors) {
    const StepProgram step = build(overlapped());
    std::map<std::uint32_t, std::size_t> forward, backward;
    const auto count = [&](const char* name, auto& by_spared) {
        for (const Op& op : block(step, name).ops)
            if (const auto* compute = std::get_if<Compute>(&op.what))
                if (const auto* gemm = std::get_if<kernels::Gemm>(&step.kernels[compute->kernel]))
                    if (gemm->batch == 1) ++by_spared[gemm->spared];  // others are attention's
    };
    count("block forward", forward);
    count("block backward", backward);
    EXPECT_EQ(forward, (std::map<std::uint32_t, std::size_t>{{0, 8}, {spared_multiprocessors, 8}}));
    EXPECT_EQ(backward, (std::map<std::uint32_t, std::size_t>{{0, 10}, {spared_multiprocessors, 4}}));
}

/// A part's product waits for its message alone, and messages wait for each other.
TEST(TensorOverlap, ProductsWaitForTheirOwnPart) {
    const StepProgram step = build(overlapped());
    const Program& forward = block(step, "block forward");
    std::vector<const Op*> messages, products;
    for (const Op& op : forward.ops) {
        const bool message = op.lane == Lane::tensor && std::holds_alternative<Collective>(op.what);
        if (message && products.empty()) messages.push_back(&op);
        const auto* compute = std::get_if<Compute>(&op.what);
        if (compute == nullptr || products.size() == 4) continue;
        if (std::holds_alternative<kernels::Gemm>(step.kernels[compute->kernel])) products.push_back(&op);
    }
    ASSERT_EQ(messages.size(), 3U);
    const auto waits = [&](const Op* later, const Op* earlier) {
        const auto reads = forward.reads(*later);  // the last of what an operation writes stands for its result
        return std::ranges::find(reads, forward.writes(*earlier).back()) != reads.end();
    };
    for (std::size_t part = 0; part < 4; ++part)
        for (std::size_t message = 0; message < 3; ++message)
            EXPECT_EQ(waits(products[part], messages[message]), part == message + 1) << part << ' ' << message;
}

/// More tensor ranks than flags to wait for.
TEST(TensorOverlap, ARingOfSixteenIsSound) {
    Plan plan = overlapped(16);
    plan.model.hidden = 256;
    plan.model.heads = plan.model.kv_heads = 16;
    plan.model.ffn = 1024;
    validate(plan);
    const StepProgram step = build(plan);
    EXPECT_TRUE(verify(step).empty());
    EXPECT_EQ(moved(block(step, "block forward")).at(CollectiveKind::send_recv).calls, 30U);
}

/// In fp8 half of what 16 bits move; what is summed stays in 16 bits.
TEST(TensorOverlap, GathersInTheProductsFormat) {
    Plan plan = overlapped();
    plan.training.precision.compute = kernels::Dtype::fp8;
    const StepProgram step = build(plan);
    EXPECT_TRUE(verify(step).empty());
    const auto forward = moved(block(step, "block forward"));
    EXPECT_EQ(forward.at(CollectiveKind::send_recv).bytes, 3 * residual_bytes / 4);
    EXPECT_EQ(forward.at(CollectiveKind::reduce_scatter).bytes, 2 * residual_bytes);
    EXPECT_EQ(moved(block(step, "block backward")).at(CollectiveKind::all_gather).bytes, residual_bytes);
}

/// Six buffers of the products' format, four of 16 bits.
TEST(TensorOverlap, BuffersStayForTheWholeTraining) {
    Plan plan = overlapped();
    const auto peak = [](const Plan& of) { return memory(build(of), 0); };
    EXPECT_EQ(tensor_overlap_buffers(plan), 10 * residual_bytes);
    const std::uint64_t with = peak(plan).peak;
    plan.strategy.tensor_comm_overlap = false;
    EXPECT_EQ(tensor_overlap_buffers(plan), 0U);
    EXPECT_EQ(with, peak(plan).peak + 10 * residual_bytes);
    plan = overlapped();
    plan.training.precision.compute = kernels::Dtype::fp8;
    EXPECT_EQ(tensor_overlap_buffers(plan), 7 * residual_bytes);
}

Plan pulled() {
    Plan plan = overlapped();
    plan.training.software = hardware::Software::pytorch;
    plan.strategy.recompute_allgather = plan.strategy.async_tensor_allreduce = false;
    return plan;
}

/// PyTorch's symmetric memory: of each of a block's four products that gather or scatter, parts of three other ranks.
TEST(TensorOverlap, RanksOfPyTorchPullParts) {
    const StepProgram step = build(pulled());
    EXPECT_TRUE(verify(step).empty());
    for (const char* name : {"block forward", "block backward"})
        EXPECT_EQ(moved(block(step, name)),
                  (std::map<CollectiveKind, Moved>{{CollectiveKind::send_recv, {12, 12, 12 * residual_bytes / 4}}}))
            << name;
    EXPECT_DOUBLE_EQ(kernel_flops(step), kernel_flops(build(overlapped())));
    EXPECT_EQ(tensor_overlap_buffers(pulled()), residual_bytes / 2);
    for (const kernels::Kernel& kernel : step.kernels)
        if (const auto* gemm = std::get_if<kernels::Gemm>(&kernel)) {
            EXPECT_EQ(gemm->spared, 0U);
        }
}

/// A sum of several products is no product: what it leaves is scattered whole, and nothing runs beside it.
TEST(TensorOverlap, SumsOfProductsAreNotPulled) {
    Plan plan = pulled();
    plan.training.fused_qkv = false;
    const StepProgram step = build(plan);
    EXPECT_TRUE(verify(step).empty());
    const auto backward = moved(block(step, "block backward"));
    EXPECT_EQ(backward.at(CollectiveKind::send_recv), (Moved{9, 9, 9 * residual_bytes / 4}));
    EXPECT_EQ(backward.at(CollectiveKind::reduce_scatter), (Moved{1, 0, residual_bytes}));
}

TEST(TensorOverlap, LogitsAndExpertsStayAsTheyAre) {
    Plan plan = overlapped();
    const StepProgram with = build(plan);
    plan.strategy.tensor_comm_overlap = false;
    const StepProgram without = build(plan);
    EXPECT_EQ(moved(block(with, "head forward")), moved(block(without, "head forward")));
    Plan experts = moe_plan(2, 1, 4, 4);
    experts.strategy.sequence_parallel = experts.strategy.tensor_comm_overlap = true;
    validate(experts);
    const auto forward = moved(block(build(experts), "moe block forward to wait"));
    EXPECT_EQ(forward.at(CollectiveKind::send_recv).calls, 1U) << "of queries, keys and values";
}

TEST(TensorOverlap, IsRefusedWhereItCannotBe) {
    const auto pointer_of = [](auto change) {
        Plan plan = overlapped();
        change(plan);
        return refused_at(plan);
    };
    const std::string key = "/strategy/tp_comm_overlap";
    EXPECT_EQ(pointer_of([](Plan&) {}), "accepted");
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.sequence_parallel = false; }), key);
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.tensor = 1; }), key);
    EXPECT_EQ(pointer_of([](Plan& p) {
                  p.training.software = hardware::Software::pytorch;
                  p.training.kernel_fusion = KernelFusion::operators;
              }),
              key);
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.async_tensor_allreduce = false; }), key);
    EXPECT_EQ(pointer_of([](Plan& p) { p.training.seq = 68, p.training.micro_batch = 1; }), key) << "17 a rank";
    EXPECT_EQ(pointer_of([](Plan& p) {
                  p.training.precision.compute = kernels::Dtype::fp8;
                  p.training.fp8_recipe = Fp8Recipe::blockwise;
              }),
              key);
    EXPECT_EQ(pointer_of([](Plan& p) {
                  p.strategy.pipeline = 2;
                  p.strategy.schedule = ScheduleKind::zb_h1;
              }),
              key);
    EXPECT_EQ(pointer_of([](Plan& p) { p.training.lora_rank = 8, p.model.dropout = 0; }), key);
}

}  // namespace
}  // namespace orrery::strategies
