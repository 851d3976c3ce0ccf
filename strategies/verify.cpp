// Checks that a step program means something: well formed, and free of deadlock.
#include <fmt/format.h>

#include "strategies/flow_checks.hpp"
#include "strategies/progress.hpp"
#include "strategies/state_checks.hpp"
#include "strategies/step_program.hpp"

namespace orrery::strategies {

namespace {

class Checker {
public:
    explicit Checker(const StepProgram& step) : step_(step) {}

    std::vector<std::string> check() && {
        if (step_.role.size() != step_.mesh.ranks())
            problem("{} ranks have a role, the mesh has {}", step_.role.size(), step_.mesh.ranks());
        for (const std::uint16_t role : step_.role)
            if (role >= step_.programs.size()) problem("role {} has no program", role);
        for (const Program& block : step_.blocks) check_block(block);
        for (const Program& program : step_.programs) check_program(program, false);
        return std::move(problems_);
    }

private:
    template <class... Args>
    void problem(fmt::format_string<Args...> format, Args&&... args) {
        problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
    }

    void check_program(const Program& program, bool block) {
        std::vector<bool> written(program.buffers.size(), false);
        for (std::size_t i = 0; i < program.ops.size(); ++i) {
            const Op& op = program.ops[i];
            check_references(program, op, i, block);
            for (const BufferId id : program.reads(op)) {
                if (id >= program.buffers.size()) {
                    problem("{} op {}: buffer b{} does not exist", program.name, i, id);
                } else if (const Buffer& buffer = program.buffers[id]; !written[id] &&
                                                                       buffer.lifetime.span == Lifetime::Span::use &&
                                                                       buffer.keep != Keep::scratch) {
                    const std::string_view holds = buffer.keep == Keep::activation ? "activation" : name(buffer.keep);
                    problem("{} op {}: reads {} b{} before anything wrote it", program.name, i, holds, id);
                }
            }
            for (const BufferId id : program.writes(op)) {
                if (id >= program.buffers.size())
                    problem("{} op {}: buffer b{} does not exist", program.name, i, id);
                else
                    written[id] = true;
            }
        }
    }

    void check_references(const Program& program, const Op& op, std::size_t i, bool block) {
        if (op.label.name >= step_.names.size())
            problem("{} op {}: name {} does not exist", program.name, i, op.label.name);
        if (const auto* compute = std::get_if<Compute>(&op.what);
            compute != nullptr && compute->kernel >= step_.kernels.size())
            problem("{} op {}: kernel {} does not exist", program.name, i, compute->kernel);
        if (const auto* call = std::get_if<Call>(&op.what)) {
            if (block) problem("{} op {}: a block holds a call", program.name, i);
            if (call->block >= step_.blocks.size())
                problem("{} op {}: block {} does not exist", program.name, i, call->block);
            if (call->times == 0) problem("{} op {}: a block that runs no time", program.name, i);
        }
        const bool leaves_rank = std::holds_alternative<Send>(op.what) || std::holds_alternative<Recv>(op.what) ||
                                 std::holds_alternative<HostSync>(op.what);
        if (block && leaves_rank) problem("{} op {}: a block holds a send, a receive or a host sync", program.name, i);
    }

    /// One way in and one way out: other lanes start after the first operation and are joined before the last ends.
    void check_block(const Program& block) {
        check_program(block, true);
        if (block.ops.empty()) {
            problem("{}: an empty block", block.name);
            return;
        }
        if (block.ops.front().lane != Lane::compute || block.ops.back().lane != Lane::compute)
            problem("{}: a block begins and ends on the compute lane", block.name);
        const std::vector<bool> joined = joined_operations(block);
        for (std::size_t i = 0; i < block.ops.size(); ++i)
            if (block.ops[i].lane != Lane::compute && (!forked(block, i) || !joined[i]))
                problem("{} op {}: lane {} is not joined by the compute lane", block.name, i, name(block.ops[i].lane));
    }

    static bool forked(const Program& block, std::size_t i) {
        for (std::size_t j = 0; j < i; ++j)
            if (block.ops[j].lane == Lane::compute && shares(block.writes(block.ops[j]), block.reads(block.ops[i])))
                return true;
        return false;
    }
    /// Those that the compute lane waits for, or another operation that is joined.
    static std::vector<bool> joined_operations(const Program& block) {
        std::vector<bool> joined(block.ops.size());
        for (std::size_t i = block.ops.size(); i-- > 0;)
            for (std::size_t j = i + 1; j < block.ops.size() && !joined[i]; ++j)
                joined[i] = (joined[j] || block.ops[j].lane == Lane::compute) &&
                            shares(block.writes(block.ops[i]), block.reads(block.ops[j]));
        return joined;
    }
    static bool shares(std::span<const BufferId> a, std::span<const BufferId> b) {
        for (const BufferId x : a)
            for (const BufferId y : b)
                if (x == y) return true;
        return false;
    }

    const StepProgram& step_;
    std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> verify(const StepProgram& step) {
    std::vector<std::string> problems = Checker(step).check();
    if (problems.empty()) problems = flow_problems(step);
    if (problems.empty()) problems = state_problems(step);
    if (problems.empty()) problems = stuck_operations(step);  // only well-formed programs can be run
    return problems;
}

}  // namespace orrery::strategies
