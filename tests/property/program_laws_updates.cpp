// What ranks update, and their memory over a step.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <variant>
#include <vector>

#include "strategies/memory.hpp"
#include "strategies/optimizers.hpp"
#include "tests/property/laws.hpp"
#include "tests/property/program_laws.hpp"

namespace orrery::laws {

namespace {

using kernels::Pointwise;
using strategies::Op;
using strategies::Plan;
using strategies::Program;
using strategies::StepProgram;

/// Numbers of the optimizer's kernels of that name, or of that kind on either processor.
double numbers_of(const StepProgram& step, const Program& program, std::string_view name) {
    double sum = 0;
    for (const Op& op : program.ops) {
        if (op.label.phase != strategies::Phase::optimizer || step.names[op.label.name] != name) continue;
        const auto* here = std::get_if<strategies::Compute>(&op.what);
        const auto* there = std::get_if<strategies::HostCompute>(&op.what);
        if (here == nullptr && there == nullptr) continue;
        const auto& kernel = std::get<Pointwise>(step.kernels[here != nullptr ? here->kernel : there->kernel]);
        sum += static_cast<double>(kernel.rows) * static_cast<double>(kernel.cols);
    }
    return sum;
}

/// Where weights have no masters: kernels that each read or write so many numbers of a parameter, as many as one that
/// scales half of them. due: what the kernels come to but for less than a number each.
double updated_in_place(const Plan& plan, const StepProgram& step, const Program& program, double due) {
    const strategies::OptimizerRow& row = strategies::row_of(plan.training.optimizer);
    const auto kernels = plan.training.fused_optimizer ? row.fused : row.by_parameter;
    constexpr double of_scale = 2;
    double each = 0;
    std::set<std::string_view> names;
    for (const strategies::UpdateKernel& kernel : kernels) {
        each += (kernel.streams + kernel.bytes / 2) / of_scale;
        const bool by_itself = plan.training.fused_optimizer || plan.training.foreach_optimizer;
        names.insert(by_itself ? kernel.name : kernels.back().name);
    }
    double numbers = 0;
    std::ptrdiff_t cut = 0;
    for (const std::string_view name : names) {
        numbers += numbers_of(step, program, name);
        cut += std::ranges::count_if(program.ops, [&](const Op& op) { return step.names[op.label.name] == name; });
    }
    return each == 0 || std::abs(numbers - each * due) < static_cast<double>(cut) ? due : numbers / each;
}

/// By the kernel that takes each number that is updated, whatever the optimizer: Adam itself; else the copy to 16 bits
/// behind it, or where weights have 32 the scaling of gradients before it.
double updated_by(const Plan& plan, const StepProgram& step, const Program& program) {
    const bool narrow = kernels::size_of(plan.training.precision.compute) < 4 && !plan.training.autocast;
    if (strategies::is_fused_adam(plan.training) && !plan.compresses())
        return numbers_of(step, program, "adam") + numbers_of(step, program, "adam on host");
    return numbers_of(step, program, narrow ? "weights to 16 bits" : "gradient scaling");
}

/// One rank's share of what its replicas divide among them.
double share_of(const Plan& plan, const Program& program) {
    const Parameters own = parameters_of(program);
    const Sharing sharing = sharing_of(plan);
    return std::floor(static_cast<double>(own.dense) / sharing.dense) +
           std::floor(static_cast<double>(own.experts) / sharing.experts);
}

/// Numbers of bytes that are there, device and host.
using There = std::array<std::int64_t, 2>;

There& add(There& there, const strategies::Buffer& buffer, std::int64_t sign) {
    there[buffer.where == strategies::Where::host ? 1 : 0] +=
        sign * static_cast<std::int64_t>(buffer.bytes) * buffer.lifetime.versions;
    return there;
}

/// Memory of a program operation by operation, calls without what their blocks use.
class Walk {
public:
    explicit Walk(const Program& program) : program_(program), last_(program.buffers.size(), never) {
        for (std::uint32_t i = 0; i < program.ops.size(); ++i)
            for (const auto operands : {program.reads(program.ops[i]), program.writes(program.ops[i])})
                for (const strategies::BufferId id : operands) last_[id] = i;
        for (const strategies::Buffer& buffer : program.buffers)
            if (lasts(buffer)) add(now_, buffer, 1);
        begin_ = now_;
    }
    /// each(operation, bytes): what is there as it runs.
    template <class Each>
    void run(const Each& each) {
        std::vector<bool> there(program_.buffers.size());
        for (std::uint32_t i = 0; i < program_.ops.size(); ++i) {
            const Op& op = program_.ops[i];
            for (const auto operands : {program_.reads(op), program_.writes(op)})
                for (const strategies::BufferId id : operands) {
                    if (lasts(program_.buffers[id]) || there[id]) continue;
                    there[id] = true;
                    add(now_, program_.buffers[id], 1);
                }
            each(op, now_);
            for (const auto operands : {program_.reads(op), program_.writes(op)})
                for (const strategies::BufferId id : operands) {
                    if (!there[id] || last_[id] != i) continue;
                    there[id] = false;
                    add(now_, program_.buffers[id], -1);
                }
        }
    }
    [[nodiscard]] const There& begin() const { return begin_; }
    [[nodiscard]] const There& now() const { return now_; }

private:
    static constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();
    static bool lasts(const strategies::Buffer& buffer) {
        return buffer.lifetime.span == strategies::Lifetime::Span::step;
    }

    const Program& program_;
    std::vector<std::uint32_t> last_;
    There begin_{}, now_{};
};

void require_memory(const StepProgram& step, std::uint32_t role, std::span<const std::uint64_t> of_blocks) {
    const Program& program = step.programs[role];
    Walk walk(program);
    There peak{};
    walk.run([&](const Op& op, const There& now) {
        for (std::size_t where = 0; where < now.size(); ++where)
            require(now[where] >= walk.begin()[where], fmt::format("{}: {} B are left of the {} B that stay",
                                                                   program.name, now[where], walk.begin()[where]));
        const auto* call = std::get_if<strategies::Call>(&op.what);
        const std::uint64_t inside = call != nullptr ? of_blocks[call->block] : 0;
        peak[0] = std::max(peak[0], now[0] + static_cast<std::int64_t>(inside));
        peak[1] = std::max(peak[1], now[1]);
    });
    require(walk.now() == walk.begin(),
            fmt::format("{}: {} and {} B behind the step, {} and {} B before it", program.name, walk.now()[0],
                        walk.now()[1], walk.begin()[0], walk.begin()[1]));
    const strategies::StageMemory memory = strategies::memory(step, role, of_blocks);
    require(memory.peak == static_cast<std::uint64_t>(peak[0]) && memory.host == static_cast<std::uint64_t>(peak[1]),
            fmt::format("{}: peaks of {} and {} B, counted {} and {}", program.name, memory.peak, memory.host, peak[0],
                        peak[1]));
}

/// What somebody wrote to keep is read, and what was copied to the host to be kept comes back.
void require_kept_for_use(const Program& program) {
    std::vector<std::uint32_t> read(program.buffers.size());
    for (const Op& op : program.ops)
        for (const strategies::BufferId id : program.reads(op)) ++read[id];
    for (strategies::BufferId id = 0; id < program.buffers.size(); ++id) {
        const strategies::Buffer& buffer = program.buffers[id];
        require(read[id] > 0 || buffer.bytes == 0 || buffer.keep != strategies::Keep::activation,
                fmt::format("{}: b{} of {} B is kept for nobody", program.name, id, buffer.bytes));
    }
}

}  // namespace

void parameters_are_updated_once(const BuiltCombination& of) {
    for (const Program& program : of.step.programs) {
        const double due = share_of(of.plan, program) * of.step.steps;
        const double updated = of.plan.training.master_weights ? updated_by(of.plan, of.step, program)
                                                               : updated_in_place(of.plan, of.step, program, due);
        require(updated == due,
                fmt::format("{}: {:.12g} numbers are updated, not {:.12g}", program.name, updated, due));
    }
}

void memory_returns(const BuiltCombination& of) {
    const std::vector<std::uint64_t> of_blocks = block_peaks(of.step);
    for (std::uint32_t role = 0; role < of.step.programs.size(); ++role) {
        require_memory(of.step, role, of_blocks);
        require_kept_for_use(of.step.programs[role]);
    }
    for (const Program& block : of.step.blocks) require_kept_for_use(block);
}

}  // namespace orrery::laws
