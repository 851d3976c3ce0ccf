// Faults planted into a program that is sound are found.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "strategies/step_program.hpp"

namespace orrery::strategies {
namespace {

/// A kernel, a block that runs a collective beside a kernel, and a mesh of two stages of two tensor ranks.
StepProgram frame() {
    StepProgram step;
    step.mesh.extent = {2, 1, 1, 1, 1, 1, 1, 1, 1, 2};
    step.names = {"op"};
    step.kernels = {kernels::Pointwise{kernels::PointwiseKind::add, kernels::Dtype::bf16, 8, 8}};
    step.role = {0, 0, 1, 1};
    Builder block("block");
    const BufferId a = block.buffer(8, Keep::scratch), b = block.buffer(8, Keep::scratch);
    block.emit(Lane::compute, {}, Compute{0}, {}, {a});
    block.emit(Lane::tensor, {}, Collective{kernels::CollectiveKind::all_reduce, {Axis::tensor}, 64}, {a}, {b});
    block.emit(Lane::compute, {}, Compute{0}, {b}, {});
    step.blocks.push_back(std::move(block).finish());
    return step;
}

Program first_stage(std::uint64_t bytes = 100) {
    Builder builder("first");
    const BufferId saved = builder.buffer(16, Keep::activation), back = builder.buffer(bytes, Keep::scratch);
    builder.emit(Lane::compute, {}, Call{0}, {}, {saved});
    builder.emit(Lane::send_forward, {}, Send{Axis::pipeline, 1, bytes}, {saved}, {});
    builder.emit(Lane::recv_backward, {}, Recv{Axis::pipeline, 1, bytes}, {}, {back});
    builder.emit(Lane::compute, {}, HostSync{}, {back}, {});
    builder.emit(Lane::compute, {}, Collective{kernels::CollectiveKind::all_reduce, {Axis::tensor, Axis::pipeline}, 4},
                 {back}, {});
    return std::move(builder).finish();
}

Program last_stage(std::uint64_t bytes = 100) {
    Builder builder("last");
    const BufferId in = builder.buffer(bytes, Keep::scratch), out = builder.buffer(bytes, Keep::scratch);
    builder.emit(Lane::recv_forward, {}, Recv{Axis::pipeline, -1, bytes}, {}, {in});
    builder.emit(Lane::compute, {}, Call{0}, {in}, {out});
    builder.emit(Lane::send_backward, {}, Send{Axis::pipeline, -1, bytes}, {out}, {});
    builder.emit(Lane::compute, {}, Collective{kernels::CollectiveKind::all_reduce, {Axis::tensor, Axis::pipeline}, 4},
                 {}, {});
    return std::move(builder).finish();
}

StepProgram sound() {
    StepProgram step = frame();
    step.programs = {first_stage(), last_stage()};
    return step;
}

void expect_found(const StepProgram& step, const std::string& text) {
    std::string all;
    for (const std::string& problem : verify(step)) all += problem + "\n";
    EXPECT_NE(all.find(text), std::string::npos) << "looked for: " << text << "\nfound: " << all;
}

TEST(Verify, ASoundProgramHasNoProblems) { EXPECT_EQ(verify(sound()), std::vector<std::string>{}); }

TEST(Verify, SendsAndReceivesOfDifferentSizes) {
    StepProgram step = frame();
    step.programs = {first_stage(100), last_stage(101)};
    expect_found(step, "first op 1 sends 100 B, last op 0 receives 101 B");
}

TEST(Verify, AReceiveThatIsMissing) {
    StepProgram step = sound();
    step.programs[0].ops.erase(step.programs[0].ops.begin() + 2);  // nobody takes the gradient
    expect_found(step, "deadlock: last op 2 (op) never ends");
}

TEST(Verify, ASendThatIsMissing) {
    StepProgram step = sound();
    step.programs[0].ops.erase(step.programs[0].ops.begin() + 1);
    expect_found(step, "deadlock: last op 0 (op) never ends");
}

TEST(Verify, CollectivesOfDifferentSizeOrKind) {
    StepProgram step = sound();
    std::get<Collective>(step.programs[1].ops.back().what).bytes = 8;
    expect_found(step, "meet in different collectives");
    step = sound();
    std::get<Collective>(step.programs[1].ops.back().what).kind = kernels::CollectiveKind::all_gather;
    expect_found(step, "meet in different collectives");
}

TEST(Verify, ACollectiveThatOneRoleLeavesOut) {
    StepProgram step = sound();
    step.programs[1].ops.pop_back();
    expect_found(step, "deadlock: first op 4 (op) never ends");
}

/// Both hosts wait for the other's message before they send their own.
TEST(Verify, ADeadlockByOrder) {
    StepProgram step = frame();
    const auto stage = [](const char* name, std::int32_t delta) {
        Builder builder(name);
        const BufferId in = builder.buffer(8, Keep::scratch);
        builder.emit(Lane::recv_forward, {}, Recv{Axis::pipeline, delta, 8}, {}, {in});
        builder.emit(Lane::compute, {}, HostSync{}, {in}, {});
        builder.emit(Lane::send_forward, {}, Send{Axis::pipeline, delta, 8}, {}, {});
        return std::move(builder).finish();
    };
    step.programs = {stage("first", 1), stage("last", -1)};
    expect_found(step, "deadlock: first op 0");
    expect_found(step, "deadlock: last op 0");
    for (Program& program : step.programs) std::swap(program.ops[0], program.ops[2]);
    for (Program& program : step.programs) std::swap(program.ops[1], program.ops[2]);
    EXPECT_TRUE(verify(step).empty()) << "sending first frees both";
}

TEST(Verify, AnActivationReadBeforeItIsWritten) {
    StepProgram step = sound();
    std::swap(step.programs[0].ops[0], step.programs[0].ops[1]);
    expect_found(step, "first op 0: reads activation b0 before anything wrote it");
}

TEST(Verify, ReferencesToWhatDoesNotExist) {
    StepProgram step = sound();
    step.programs[0].operands[0] = 99;
    expect_found(step, "buffer b99 does not exist");
    step = sound();
    step.programs[0].ops[0].what = Call{1};
    expect_found(step, "first op 0: block 1 does not exist");
    step = sound();
    step.blocks[0].ops[0].what = Compute{7};
    expect_found(step, "block op 0: kernel 7 does not exist");
    step = sound();
    step.programs[1].ops[1].label.name = 3;
    expect_found(step, "last op 1: name 3 does not exist");
}

TEST(Verify, RolesThatDoNotFitTheMesh) {
    StepProgram step = sound();
    step.role.pop_back();
    expect_found(step, "3 ranks have a role, the mesh has 4");
    step = sound();
    step.role[2] = 5;
    expect_found(step, "role 5 has no program");
    step = sound();
    step.role = {0, 0, 0, 0};
    expect_found(step, "no rank runs last");
}

TEST(Verify, BlocksThatDoNotEndOnTheComputeLane) {
    StepProgram step = sound();
    step.blocks[0].ops.pop_back();
    expect_found(step, "a block begins and ends on the compute lane");
    expect_found(step, "lane tensor is not joined");
}

TEST(Verify, ABlockWhoseOtherLaneIsNotWaitedFor) {
    StepProgram step = sound();
    step.blocks[0].ops[2].reads = 0;
    expect_found(step, "block op 1: lane tensor is not joined by the compute lane");
}

TEST(Verify, BlocksThatAreEmptyOrLeaveTheirRank) {
    StepProgram step = sound();
    step.blocks.push_back(Program{.name = "nothing", .buffers = {}, .ops = {}, .operands = {}});
    expect_found(step, "nothing: an empty block");
    step = sound();
    step.blocks[0].ops[0].what = Call{0};
    expect_found(step, "a block holds a call");
    step = sound();
    step.blocks[0].ops[0].what = HostSync{};
    expect_found(step, "a block holds a send, a receive or a host sync");
}

/// The compute lane waits for an operation that waits for it.
TEST(Verify, AnOtherLaneIsWaitedForThroughItsNextOperation) {
    StepProgram step = frame();
    Builder block("block");
    const BufferId a = block.buffer(8, Keep::scratch), b = block.buffer(8, Keep::scratch),
                   c = block.buffer(8, Keep::scratch);
    const Collective sum{kernels::CollectiveKind::all_reduce, {Axis::tensor}, 64};
    block.emit(Lane::compute, {}, Compute{0}, {}, {a});
    block.emit(Lane::tensor, {}, sum, {a}, {b});
    block.emit(Lane::tensor, {}, sum, {a, b}, {c});
    block.emit(Lane::compute, {}, Compute{0}, {c}, {});
    step.blocks.front() = std::move(block).finish();
    step.programs = {first_stage(), last_stage()};
    EXPECT_EQ(verify(step), std::vector<std::string>{});
}

}  // namespace
}  // namespace orrery::strategies
