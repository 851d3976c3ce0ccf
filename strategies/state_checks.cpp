#include "strategies/state_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
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
        : step_(step),
          program_(program),
          state_(program.state),
          problems_(problems),
          executable_(std::ranges::any_of(program.state_details,
                                          [](const StateDetail& detail) { return !detail.operands.empty(); })) {
        lies(State::weights) = lies(State::gradients) = lies(State::masters) = true;
        lies(State::first_moments) = lies(State::second_moments) = true;
        lies(State::formed) = true;  // by calls
        lies(State::main_gradients) = state_.gradient == kernels::Format::fp32;
    }

    void check() && {
        for (at_ = 0; at_ < program_.ops.size(); ++at_) {
            const Op& op = program_.ops[at_];
            count_update(op);
            if (const auto* call = std::get_if<Call>(&op.what)) check_casts(step_.blocks[call->block]);
            if (op.state == no_state) continue;
            if (op.state >= program_.state_details.size()) {
                problem("operands {} do not exist", op.state);
                continue;
            }
            const StateDetail& detail = program_.state_details[op.state];
            if (!detail.operands.empty()) check(op, detail);
        }
        check_updated();
        if (!state_.buckets.empty() && executable_ && updates_ == 0)
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

    /// The host may update a part of the parameters, and the device the rest.
    void count_update(const Op& op) {
        const auto* compute = std::get_if<Compute>(&op.what);
        const auto* host = std::get_if<HostCompute>(&op.what);
        if (compute == nullptr && host == nullptr) return;
        const kernels::Kernel& kernel = step_.kernels[host != nullptr ? host->kernel : compute->kernel];
        const auto* adam = std::get_if<kernels::Pointwise>(&kernel);
        const bool updates = adam != nullptr && adam->kind == kernels::PointwiseKind::adam;
        if (updates) (host != nullptr ? on_host_ : on_device_) += adam->rows * adam->cols;
        if (!updates && host != nullptr) problem("the host's cores run {}", kernels::to_text(kernel));
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
                              [&](const HostCompute& host) { check_kernel(step_.kernels[host.kernel], detail); },
                              [&](const Copy& copy) { check_copy(copy, detail); },
                              [&](const Collective& collective) { check_collective(collective, detail); },
                              [&](const Send& send) { check_message(send.bytes, detail, false); },
                              [&](const Recv& receive) { check_message(receive.bytes, detail, true); },
                              [&](const Call&) { read(detail.operands.front()); },
                              [&](const auto&) { problem("takes operands, and is no operation that can"); }},
                   op.what);
    }
    /// What a layer reads of its weights in fp8 has been made before.
    void check_casts(const Program& block) {
        if (!executable_ || block.flow >= step_.flows.size() || lies(State::cast_weights)) return;
        const LayerFlow& flow = step_.flows[block.flow];
        const auto cast = [](const Value& value) { return value.role == Role::cast_weight; };
        if (flow.complete && std::ranges::any_of(flow.values, cast))
            problem("reads the {} before anything wrote it", name(State::cast_weights));
    }
    void check_kernel(const kernels::Kernel& kernel, const StateDetail& detail);
    void check_collective(const Collective& collective, const StateDetail& detail);
    void check_message(std::uint64_t bytes, const StateDetail& detail, bool receives);
    void check_copy(const Copy& copy, const StateDetail& detail);
    void read(const StateView& view) {
        if (!lies(view.state)) problem("reads the {} before anything wrote it", name(view.state));
        if (view.state != State::weights || state_.versions == 1) return;
        if (view.version > newest_ || view.version + state_.versions <= newest_)
            problem("reads version {} of the weights, of which {} are there up to version {}", view.version,
                    state_.versions, newest_);
    }
    void write(const StateView& view) {
        if (view.state == State::weights) newest_ = view.version;
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
    bool executable_;  // its operations on parameters have operands at all
    std::array<bool, all_states> written_{};
    std::size_t at_ = 0;
    unsigned updates_ = 0;
    std::uint32_t newest_ = 0;                   // version of the weights
    std::uint64_t on_host_ = 0, on_device_ = 0;  // parameters that are updated
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
        const bool widened = view.state == State::arrived_gradients;  // by the host, ahead of its kernel
        if (operand.format != format && !tf32 && !widened)
            problem("{} is {}, its kernel takes {}", operand.name, kernels::name(format),
                    kernels::name(operand.format));
        if (operand.elements != state_.elements(view))
            problem("{} is {} elements of the {}, its kernel takes {}", operand.name, state_.elements(view),
                    name(view.state), operand.elements);
        if (operand.role != kernels::Role::out) read(view);
    }
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (operands[i].role != kernels::Role::in) write(detail.operands[i]);
    if (detail.unscales) write({State::overflow});
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

void StateChecker::check_copy(const Copy& copy, const StateDetail& detail) {
    if (detail.operands.size() != 2) return problem("{} operands, a copy has two", detail.operands.size());
    for (const StateView& view : detail.operands)
        if (bytes(view) != copy.bytes) problem("copies {} B, the {} are {}", copy.bytes, name(view.state), bytes(view));
    read(detail.operands.front());
    write(detail.operands.back());
}

}  // namespace

std::vector<std::string> state_problems(const StepProgram& step) {
    std::vector<std::string> problems;
    for (const Program& program : step.programs) StateChecker(step, program, problems).check();
    return problems;
}

}  // namespace orrery::strategies
