#include "strategies/window.hpp"

#include <array>
#include <limits>
#include <stdexcept>

namespace orrery::strategies {

namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// The first and the last operation of each lane.
struct Ends {
    std::array<std::uint32_t, lanes> first{}, last{};

    explicit Ends(const Program& program) {
        first.fill(none);
        last.fill(none);
        for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
            if (std::holds_alternative<HostSync>(program.ops[i].what)) continue;
            const auto lane = static_cast<std::size_t>(program.ops[i].lane);
            if (first[lane] == none) first[lane] = i;
            last[lane] = i;
        }
    }
    [[nodiscard]] bool begins(const Op& op, std::uint32_t i) const {
        return first[static_cast<std::size_t>(op.lane)] == i;
    }
    [[nodiscard]] bool ends(const Op& op, std::uint32_t i) const {
        return last[static_cast<std::size_t>(op.lane)] == i;
    }
};

class Repeater {
public:
    Repeater(const Program& program, Label boundary, StepsMeet meet)
        : program_(program),
          boundary_(boundary),
          joined_(meet == StepsMeet::joined),
          ends_(program),
          out_(program.name) {
        for (const Buffer& buffer : program.buffers) ids_.push_back(lasts(buffer) ? out_.buffer(buffer) : 0);
    }

    void step() {
        for (BufferId id = 0; id < ids_.size(); ++id)
            if (!lasts(program_.buffers[id])) ids_[id] = out_.buffer(program_.buffers[id]);
        std::vector<BufferId> ended, reads, writes;
        const std::vector<BufferId> before = std::move(ended_);
        for (std::uint32_t i = 0; i < program_.ops.size(); ++i) {
            const Op& op = program_.ops[i];
            reads.clear();
            writes.clear();
            for (const BufferId id : program_.reads(op)) reads.push_back(ids_[id]);
            for (const BufferId id : program_.writes(op)) writes.push_back(ids_[id]);
            if (ends_.begins(op, i)) reads.insert(reads.end(), before.begin(), before.end());
            if (ends_.ends(op, i) && (joined_ || op.lane == Lane::compute)) {
                ended.push_back(out_.buffer(0, Keep::scratch));
                writes.push_back(ended.back());
            }
            out_.emit(op.lane, op.label, op.what, reads, writes);
        }
        if (joined_)
            out_.emit(Lane::compute, boundary_, What{HostSync{}}, ended, std::span<const BufferId>{});
        else
            ended_ = std::move(ended);
    }

    [[nodiscard]] Program finish() && { return std::move(out_).finish(); }

private:
    static bool lasts(const Buffer& buffer) { return buffer.lifetime.span == Lifetime::Span::step; }

    const Program& program_;
    Label boundary_;
    bool joined_;
    Ends ends_;
    Builder out_;
    std::vector<BufferId> ids_;    // buffer of the step -> of the window
    std::vector<BufferId> ended_;  // what the next step's lanes wait for
};

}  // namespace

StepProgram window(const StepProgram& step, std::uint32_t steps, StepsMeet meet) {
    if (step.steps != 1 || steps == 0) throw std::logic_error("a window is made of one step, once or more");
    StepProgram result = step;
    result.steps = steps;
    result.programs.clear();
    Label boundary{.phase = Phase::optimizer};
    boundary.name = static_cast<std::uint32_t>(result.names.size());
    result.names.emplace_back("step ends");
    for (const Program& program : step.programs) {
        Repeater repeater(program, boundary, meet);
        for (std::uint32_t k = 0; k < steps; ++k) repeater.step();
        result.programs.push_back(std::move(repeater).finish());
    }
    return result;
}

}  // namespace orrery::strategies
