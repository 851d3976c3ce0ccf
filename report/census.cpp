#include "report/census.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "report/operation.hpp"

namespace orrery::report {

namespace {

using namespace strategies;

class Counter {
public:
    explicit Counter(const StepProgram& step) : step_(step) {}

    /// times: how often the operation runs; span: its time when it has one.
    void add(const Op& op, std::uint64_t times, const sim::Span* span) {
        if (const auto* compute = std::get_if<Compute>(&op.what)) {
            const kernels::Kernel& kernel = step_.kernels[compute->kernel];
            auto& use = kernels_.try_emplace(kernels::to_text(kernel), KernelUse{kernel}).first->second;
            use.count += times;
        } else if (!std::holds_alternative<Call>(op.what) && !std::holds_alternative<HostSync>(op.what)) {
            auto& use =
                transfers_.try_emplace({describe(step_, op), bytes_of(step_, op)}, TransferUse{op}).first->second;
            use.count += times;
            use.timed += span != nullptr ? times : 0;
            use.timed_seconds += span != nullptr ? static_cast<double>(times) * (span->end - span->begin) : 0;
        }
    }

    [[nodiscard]] Census result() const {
        Census all;
        for (const auto& [text, use] : kernels_) all.kernels.push_back(use);
        for (const auto& [key, use] : transfers_) all.transfers.push_back(use);
        return all;
    }

private:
    const StepProgram& step_;
    std::map<std::string, KernelUse> kernels_;
    std::map<std::pair<std::string, double>, TransferUse> transfers_;
};

}  // namespace

Census census(const StepProgram& step, std::uint32_t role, const std::vector<sim::Span>* spans,
              const std::vector<std::vector<sim::Span>>& blocks) {
    Counter counter(step);
    std::map<std::uint32_t, std::uint64_t> calls;
    const Program& program = step.programs[role];
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const Op& op = program.ops[i];
        if (const auto* call = std::get_if<Call>(&op.what)) calls[call->block] += call->times;
        counter.add(op, 1, spans != nullptr ? &(*spans)[i] : nullptr);
    }
    for (const auto& [block, times] : calls) {
        const bool known = block < blocks.size() && !blocks[block].empty();
        const auto& ops = step.blocks[block].ops;
        for (std::size_t i = 0; i < ops.size(); ++i) counter.add(ops[i], times, known ? &blocks[block][i] : nullptr);
    }
    return counter.result();
}

}  // namespace orrery::report
