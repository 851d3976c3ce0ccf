// Calls replaced by the operations of their blocks.
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "strategies/step_program.hpp"

namespace orrery::strategies {

namespace {

/// One call: the first operation of the block waits for what the call reads, the last one writes what it writes;
/// the block's own buffers become buffers of the caller.
void inline_call(const Program& caller, const Op& call, const Program& block, Builder& out, std::uint32_t buffer_base) {
    std::vector<BufferId> reads, writes;
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
        const Op& op = block.ops[i];
        reads.clear();
        writes.clear();
        for (const BufferId id : block.reads(op)) reads.push_back(buffer_base + id);
        for (const BufferId id : block.writes(op)) writes.push_back(buffer_base + id);
        if (i == 0) {
            const auto entry = caller.reads(call);
            reads.insert(reads.end(), entry.begin(), entry.end());
            // what the call overwrites must be free before it begins
            const auto exit = caller.writes(call);
            writes.insert(writes.end(), exit.begin(), exit.end());
        } else if (i + 1 == block.ops.size()) {
            const auto entry = caller.reads(call);
            reads.insert(reads.end(), entry.begin(), entry.end());
            const auto exit = caller.writes(call);
            writes.insert(writes.end(), exit.begin(), exit.end());
        }
        Label label = op.label;
        label.micro_batch = call.label.micro_batch;
        label.layer = call.label.layer;
        out.emit(op.lane, label, op.what, reads, writes);
    }
}

Program unrolled(const StepProgram& step, const Program& program) {
    Builder out(program.name);
    out.stage_state(program.state);
    std::vector<std::optional<std::uint16_t>> states(program.state_details.size());
    for (const Buffer& buffer : program.buffers) out.buffer(buffer);
    auto buffers = static_cast<std::uint32_t>(program.buffers.size());
    Rounds rounds = program.rounds;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const Op& op = program.ops[i];
        if (i == program.rounds.first) rounds.first = out.size();
        if (i == program.rounds.first + program.rounds.ops) rounds.ops = out.size() - rounds.first;
        if (const auto* call = std::get_if<Call>(&op.what)) {
            const Program& block = step.blocks[call->block];
            for (std::uint32_t time = 0; time < call->times; ++time) {
                for (const Buffer& buffer : block.buffers) out.buffer(buffer);
                inline_call(program, op, block, out, buffers);
                buffers += static_cast<std::uint32_t>(block.buffers.size());
            }
        } else {
            out.emit(op.lane, op.label, op.what, program.reads(op), program.writes(op));
            if (op.state == no_state) continue;
            std::optional<std::uint16_t>& known = states[op.state];
            known ? out.same_state(*known) : void(known = out.state(program.state_details[op.state]));
        }
    }
    Program flat = std::move(out).finish();
    flat.rounds = rounds;
    return flat;
}

}  // namespace

StepProgram unrolled(const StepProgram& step) {
    StepProgram flat{step.mesh, step.names, step.kernels, step.exchanges, {}, {}, {}, step.role, step.steps};
    for (const Program& program : step.programs) flat.programs.push_back(unrolled(step, program));
    return flat;
}

std::uint64_t unrolled_ops(const StepProgram& step, std::uint32_t role) {
    std::uint64_t count = 0;
    const Program& program = step.programs[role];
    const auto add = [&](std::span<const Op> ops, std::uint64_t times) {
        for (const Op& op : ops) {
            const auto* call = std::get_if<Call>(&op.what);
            count += times * (call != nullptr ? call->times * step.blocks[call->block].ops.size() : 1);
        }
    };
    add(program.ops, 1);
    if (program.rounds.left_out > 0)  // they count as the last that is not
        add(std::span(program.ops).subspan(program.rounds.end() - program.rounds.ops, program.rounds.ops),
            program.rounds.left_out);
    return count;
}

}  // namespace orrery::strategies
