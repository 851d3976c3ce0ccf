#include "strategies/state_checks.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/overloaded.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;

class StateChecker {
public:
    StateChecker(const StepProgram& step, const Program& program, std::vector<std::string>& problems)
        : step_(step), program_(program), state_(program.state), problems_(problems) {
        lies(State::weights) = lies(State::gradients) = lies(State::masters) = true;
        lies(State::first_moments) = lies(State::second_moments) = true;
        lies(State::formed) = true;  // by calls
        lies(State::main_gradients) = state_.gradient == kernels::Format::fp32;
    }

    void check() && {
        for (at_ = 0; at_ < program_.ops.size(); ++at_) {
            const Op& op = program_.ops[at_];
            if (const auto* host = std::get_if<HostCompute>(&op.what)) check_host(step_.kernels[host->kernel]);
            if (op.state == no_state) continue;
            if (op.state >= program_.state_details.size()) {
                problem("operands {} do not exist", op.state);
                continue;
            }
            const StateDetail& detail = program_.state_details[op.state];
            if (!detail.operands.empty()) check(op, detail);
            if (detail.operands.empty()) count_update(op);
        }
        check_updated();
        if (!state_.buckets.empty() && executable() && updates_ == 0)
            problems_.push_back(program_.name + ": nothing updates its parameters");
    }

private:
    template <class... Args>
    void problem(fmt::format_string<Args...> format, Args&&... args) {
        problems_.push_back(fmt::format("{} op {} ({}): {}", program_.name, at_,
                                        step_.names[program_.ops[at_].label.name],
                                        fmt::format(format, std::forward<Args>(args)...)));
    }
    bool& lies(State state) { return written_.at(static_cast<std::size_t>(state)); }
    /// Whether its operations on parameters have operands at all.
    [[nodiscard]] bool executable() const {
        for (const StateDetail& detail : program_.state_details)
            if (!detail.operands.empty()) return true;
        return false;
    }

    /// The host updates a part of the parameters, and kernels without operands the rest.
    void check_host(const kernels::Kernel& kernel) {
        const auto* adam = std::get_if<kernels::Pointwise>(&kernel);
        if (adam == nullptr || adam->kind != kernels::PointwiseKind::adam)
            return problem("the host's cores run {}", kernels::to_text(kernel));
        on_host_ += adam->rows * adam->cols;
        ++updates_;
    }
    void count_update(const Op& op) {
        const auto* compute = std::get_if<Compute>(&op.what);
        if (compute == nullptr) return;
        const auto* adam = std::get_if<kernels::Pointwise>(&step_.kernels[compute->kernel]);
        if (adam != nullptr && adam->kind == kernels::PointwiseKind::adam) on_device_ += adam->rows * adam->cols;
    }
    void check_updated() {
        if (on_host_ == 0) return;
        const std::uint64_t all = state_.elements({State::masters, Portion::updated});
        if (on_host_ + on_device_ != all)
            problems_.push_back(fmt::format("{}: {} parameters are updated by the host and {} by the device, of {}",
                                            program_.name, on_host_, on_device_, all));
    }

    void check(const Op& op, const StateDetail& detail) {
        std::visit(Overloaded{[&](const Compute& compute) { check_kernel(step_.kernels[compute.kernel], detail); },
                              [&](const Collective& collective) { check_collective(collective, detail); },
                              [&](const Send& send) { check_message(send.bytes, detail, false); },
                              [&](const Recv& receive) { check_message(receive.bytes, detail, true); },
                              [&](const auto&) { problem("takes operands, and is no operation that can"); }},
                   op.what);
    }
    void check_kernel(const kernels::Kernel& kernel, const StateDetail& detail);
    void check_collective(const Collective& collective, const StateDetail& detail);
    void check_message(std::uint64_t bytes, const StateDetail& detail, bool receives);
    void read(const StateView& view) {
        if (!lies(view.state)) problem("reads the {} before anything wrote it", name(view.state));
    }
    void write(const StateView& view) {
        lies(view.state) = true;
        updates_ += view.state == State::masters ? 1U : 0U;
    }
    [[nodiscard]] std::uint64_t bytes(const StateView& view) const {
        return state_.elements(view) * kernels::size_of(state_.format_of(view.state));
    }

    const StepProgram& step_;
    const Program& program_;
    const StageState& state_;
    std::vector<std::string>& problems_;
    std::array<bool, 10> written_{};
    std::size_t at_ = 0;
    unsigned updates_ = 0;
    std::uint64_t on_host_ = 0, on_device_ = 0;  // parameters of updates that have no operands
};

void StateChecker::check_kernel(const kernels::Kernel& kernel, const StateDetail& detail) {
    std::vector<kernels::Operand> operands;
    try {
        operands = kernels::operands(kernel, detail.settings);
    } catch (const Error& error) {
        return problem("{}", error.what());
    }
    if (operands.size() != detail.operands.size())
        return problem("{} operands, its kernel takes {}", detail.operands.size(), operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const StateView& view = detail.operands[i];
        const kernels::Operand& operand = operands[i];
        const kernels::Format format = state_.format_of(view.state);
        const bool tf32 = operand.format == kernels::Format::tf32 && format == kernels::Format::fp32;
        if (operand.format != format && !tf32)
            problem("{} is {}, its kernel takes {}", operand.name, kernels::name(format),
                    kernels::name(operand.format));
        if (operand.elements != state_.elements(view))
            problem("{} is {} elements of the {}, its kernel takes {}", operand.name, state_.elements(view),
                    name(view.state), operand.elements);
        if (operand.role != kernels::Role::out) read(view);
    }
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (operands[i].role != kernels::Role::in) write(detail.operands[i]);
}

void StateChecker::check_collective(const Collective& collective, const StateDetail& detail) {
    if (detail.operands.size() != 2)
        return problem("{} operands, a collective sends one and receives one", detail.operands.size());
    const StateView &sent = detail.operands.front(), &received = detail.operands.back();
    const std::uint64_t ranks = step_.mesh.group_size(collective.group);
    const std::uint64_t size = kernels::size_of(state_.format_of(sent.state));
    const auto moved = [&](bool part) {
        return (part ? collective.bytes / size / ranks : collective.bytes / size) * size;
    };
    if (bytes(sent) != moved(collective.kind == CollectiveKind::all_gather))
        problem("sends {} B of the {}, {} of them lie there", moved(collective.kind == CollectiveKind::all_gather),
                name(sent.state), bytes(sent));
    if (bytes(received) != moved(collective.kind == CollectiveKind::reduce_scatter))
        problem("receives {} B of the {}, there are {}", moved(collective.kind == CollectiveKind::reduce_scatter),
                name(received.state), bytes(received));
    read(sent);
    write(received);
}

void StateChecker::check_message(std::uint64_t moved, const StateDetail& detail, bool receives) {
    if (detail.operands.size() != 1) return problem("{} operands, a message is one", detail.operands.size());
    const StateView& view = detail.operands.front();
    if (bytes(view) != moved) problem("moves {} B, the {} are {}", moved, name(view.state), bytes(view));
    receives ? write(view) : read(view);
}

}  // namespace

std::vector<std::string> state_problems(const StepProgram& step) {
    std::vector<std::string> problems;
    for (const Program& program : step.programs) StateChecker(step, program, problems).check();
    return problems;
}

}  // namespace orrery::strategies
