// What keys that change an order, or who does what, leave as it is: bytes, messages, FLOPs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "strategies/step_program.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

struct Moved {
    std::uint64_t bytes = 0;                      ///< of collectives and messages
    std::size_t calls = 0, aside = 0, waits = 0;  ///< aside: not on the compute lane; waits: of the host
};

Moved moved(const Plan& plan, std::uint32_t stage) {
    Moved out;
    const StepProgram flat = unrolled(build(plan));
    for (const Op& op : flat.programs[stage].ops) {
        if (std::holds_alternative<HostSync>(op.what)) ++out.waits;
        const auto* collective = std::get_if<Collective>(&op.what);
        const auto* send = std::get_if<Send>(&op.what);
        if (collective == nullptr && send == nullptr) continue;
        out.bytes += collective != nullptr ? collective->bytes : send->bytes;
        ++out.calls;
        if (collective != nullptr && op.lane != Lane::compute) ++out.aside;
    }
    return out;
}

/// Megatron-LM: the gradient of a column-parallel layer's input is summed beside its weight gradient.
TEST(CountedEffects, AsynchronousTensorCollectivesMoveTheSameElsewhere) {
    Plan waited = tiny_plan(4), beside = tiny_plan(4);
    waited.strategy.async_tensor_allreduce = false;
    beside.strategy.async_tensor_allreduce = true;
    const Moved a = moved(waited, 0), b = moved(beside, 0);
    EXPECT_EQ(a.bytes, b.bytes);
    EXPECT_EQ(a.calls, b.calls);
    EXPECT_GT(b.aside, a.aside);
    EXPECT_DOUBLE_EQ(kernel_flops(build(waited)), kernel_flops(build(beside)));
}

/// Autograd keeps what a column-parallel layer gathered; Megatron-LM gathers the inputs of a block's two again.
TEST(CountedEffects, KeptInputsAreNotGatheredAgain) {
    Plan again = tiny_plan(4), kept = tiny_plan(4);
    again.strategy.sequence_parallel = kept.strategy.sequence_parallel = true;
    kept.strategy.recompute_allgather = false;
    const Moved a = moved(again, 0), b = moved(kept, 0);
    const std::uint64_t calls = 2ULL * again.model.layers * again.micro_batches() + again.micro_batches();
    EXPECT_EQ(a.calls - b.calls, calls) << "two a block, and the logits'";
    EXPECT_EQ(a.bytes - b.bytes, calls * again.rank_tokens() * again.model.hidden * 2);
    EXPECT_DOUBLE_EQ(kernel_flops(build(again)), kernel_flops(build(kept)));
    EXPECT_GT(memory(build(kept), 0).peak, memory(build(again), 0).peak);
    EXPECT_EQ(verify(build(kept)), std::vector<std::string>{});
}

/// Bytes of copies that stand behind gathers, or before scatters, each over all of a micro-batch's tokens.
std::array<double, 2> copied(const Plan& plan) {
    std::array<double, 2> bytes{};
    const StepProgram flat = unrolled(build(plan));
    for (const Op& op : flat.programs[0].ops) {
        const std::string& name = flat.names[op.label.name];
        const auto* compute = std::get_if<Compute>(&op.what);
        if (compute == nullptr || name.find("order ") == std::string::npos) continue;
        bytes[name.ends_with("ranks") ? 1 : 0] += kernels::bytes(flat.kernels[compute->kernel]);
    }
    return bytes;
}

/// Sequence by sequence, what tensor ranks gather and scatter is read and written once more; of one sequence what they
/// gather is in order.
TEST(CountedEffects, SequencesThatLieOneBehindTheOtherAreCopied) {
    Plan plan = tiny_plan(4);
    plan.strategy.sequence_parallel = true;
    Plan copies = plan, one = plan, whole = plan;
    copies.strategy.batch_first = one.strategy.batch_first = whole.strategy.batch_first = true;
    one.training.micro_batch = 1;
    whole.strategy.sequence_parallel = false;
    const Moved a = moved(plan, 0), b = moved(copies, 0);
    EXPECT_EQ(a.bytes, b.bytes);
    EXPECT_EQ(a.calls, b.calls);
    using Two = std::array<double, 2>;
    EXPECT_EQ(copied(plan), (Two{0, 0}));
    EXPECT_EQ(copied(whole), (Two{0, 0}));
    const double each = 2.0 * 2 * static_cast<double>(plan.rank_tokens() * plan.model.hidden) * plan.micro_batches();
    const double layers = plan.model.layers;
    EXPECT_EQ(copied(copies), (Two{each * (6 * layers + 3), each * (4 * layers + 2)}))
        << "of a block two inputs, again backward, and two gradients; of the ends the logits' and the words'";
    EXPECT_EQ(copied(one)[0], 0);
    EXPECT_EQ(copied(one)[1], copied(copies)[1]) << "half as many tokens in twice as many micro-batches";
    EXPECT_EQ(verify(build(copies)), std::vector<std::string>{});
}

/// Megatron-Core: messages are posted ahead, and the host waits for none.
TEST(CountedEffects, EarlyMessagesAreTheSameMessages) {
    Plan plan = tiny_plan(1, 2);
    plan.strategy.schedule = ScheduleKind::interleaved;
    plan.strategy.virtual_pipeline = 2;
    Plan early = plan;
    early.strategy.overlap_p2p = true;
    for (const std::uint32_t stage : {0U, 1U}) {
        const Moved a = moved(plan, stage), b = moved(early, stage);
        EXPECT_EQ(a.bytes, b.bytes);
        EXPECT_EQ(a.calls, b.calls);
        EXPECT_LT(b.waits, a.waits);
    }
}

/// Layers move from stage to stage, and with them their FLOPs; stages send what they did.
TEST(CountedEffects, UnequalStagesDoTheSameWork) {
    const Plan even = tiny_plan(1, 2);
    Plan uneven = even;
    uneven.strategy.pipeline_layers = "3,1";
    EXPECT_DOUBLE_EQ(kernel_flops(build(even)), kernel_flops(build(uneven)));
    const auto sends = [](const Plan& plan) {
        std::uint64_t bytes = 0;
        const StepProgram flat = unrolled(build(plan));
        for (const Op& op : flat.programs[0].ops)
            if (const auto* send = std::get_if<Send>(&op.what); send != nullptr && op.label.phase != Phase::gradient)
                bytes += send->bytes;
        return bytes;
    };
    EXPECT_EQ(sends(even), sends(uneven));
}

}  // namespace
}  // namespace orrery::strategies
