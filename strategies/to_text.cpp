// Step programs as text: one line an operation.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/enum_table.hpp"
#include "strategies/step_program.hpp"

namespace orrery::strategies {

namespace {

struct Describe {
    const StepProgram& step;
    std::string operator()(const Compute& c) const { return kernels::to_text(step.kernels[c.kernel]); }
    std::string operator()(const Collective& c) const {
        return fmt::format("{} over {} of {} B", c.name(), to_text(c.group), c.bytes);
    }
    std::string operator()(const Send& s) const {
        return fmt::format("send {:+} along {}, {} B", s.delta, to_text(s.axis), s.bytes);
    }
    std::string operator()(const Recv& r) const {
        return fmt::format("receive {:+} along {}, {} B", r.delta, to_text(r.axis), r.bytes);
    }
    std::string operator()(const Copy& c) const {
        constexpr EnumNames<Copy::To> to{"host", "device", "storage", "host from storage"};
        return fmt::format("copy to {}, {} B", to[c.to], c.bytes);
    }
    std::string operator()(const Call& c) const {
        return fmt::format("call {}{}", step.blocks[c.block].name,
                           c.times == 1 ? "" : fmt::format(", {} times", c.times));
    }
    std::string operator()(const HostCompute& c) const {
        return fmt::format("{} on the host", kernels::to_text(step.kernels[c.kernel]));
    }
    std::string operator()(const HostSync&) const { return "host waits"; }
};

std::string buffer_list(std::span<const BufferId> ids) {
    std::string text;
    for (const BufferId id : ids) text += fmt::format("{}b{}", text.empty() ? "" : " ", id);
    return text;
}

void describe_op(std::back_insert_iterator<std::string> out, const StepProgram& step, const Program& program,
                 const Op& op, std::size_t index) {
    std::string where;
    if (op.label.micro_batch >= 0) where += fmt::format(" mb{}", op.label.micro_batch);
    if (op.label.layer >= 0) where += fmt::format(" layer{}", op.label.layer);
    fmt::format_to(out, "{:>6}  {:<13} {:<9} {:<30} {}", index, name(op.lane), name(op.label.phase),
                   step.names[op.label.name] + where, std::visit(Describe{step}, op.what));
    if (op.reads > 0) fmt::format_to(out, "  <- {}", buffer_list(program.reads(op)));
    if (op.writes > 0) fmt::format_to(out, "  -> {}", buffer_list(program.writes(op)));
    fmt::format_to(out, "\n");
}

/// Where it is not the usual one of what the buffer holds.
std::string lifetime_text(const Buffer& buffer) {
    const auto& [span, versions] = buffer.lifetime;
    std::string text;
    if (span != usual_lifetime(buffer.keep).span)
        text = span == Lifetime::Span::use ? ", while used" : ", all the step";
    return versions > 1 ? text + fmt::format(", {} versions", versions) : text;
}

void describe_buffers(std::back_insert_iterator<std::string> out, const Program& program) {
    for (std::size_t i = 0; i < program.buffers.size(); ++i)
        fmt::format_to(out, "        b{:<5} {:>14} B  {}{}{}\n", i, program.buffers[i].bytes,
                       name(program.buffers[i].keep), program.buffers[i].where == Where::host ? " in host memory" : "",
                       lifetime_text(program.buffers[i]));
}

void describe_program(std::back_insert_iterator<std::string> out, const StepProgram& step, const Program& program,
                      std::string_view title) {
    fmt::format_to(out, "{} {}: {} operations, {} buffers\n", title, program.name, program.ops.size(),
                   program.buffers.size());
    describe_buffers(out, program);
    for (std::size_t i = 0; i < program.ops.size(); ++i) describe_op(out, step, program, program.ops[i], i);
}

}  // namespace

std::string to_text(const StepProgram& step, std::uint32_t role) {
    std::string text;
    auto out = std::back_inserter(text);
    const Program& program = step.programs[role];
    fmt::format_to(out, "mesh");
    constexpr AxisSet where_ranks_lie{Axis::tensor_row, Axis::tensor_column, Axis::tensor_depth, Axis::context_inner,
                                      Axis::replica};
    for (const Axis axis : own_axes)
        if (!where_ranks_lie.has(axis) || step.mesh.along(axis) > 1)
            fmt::format_to(out, " {} {}", to_text(axis), step.mesh.along(axis));
    fmt::format_to(out, ": {} ranks, {} roles\n", step.mesh.ranks(), step.programs.size());
    std::set<std::uint32_t> called;
    for (const Op& op : program.ops)
        if (const auto* call = std::get_if<Call>(&op.what)) called.insert(call->block);
    describe_program(out, step, program, "program");
    for (const std::uint32_t block : called) describe_program(out, step, step.blocks[block], "block");
    return text;
}

}  // namespace orrery::strategies
