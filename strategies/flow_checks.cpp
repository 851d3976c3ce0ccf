#include "strategies/flow_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "strategies/contract.hpp"
#include "strategies/shared_sequences.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::Format;

Format in_memory(Format format) { return format == Format::tf32 ? Format::fp32 : format; }

class BlockChecker {
public:
    BlockChecker(const StepProgram& step, const Program& block, std::vector<std::string>& problems)
        : step_(step), block_(block), flow_(step.flows[block.flow]), problems_(problems) {}

    /// `written`: what lies there before the first operation; returns what does behind the last.
    std::set<ValueId> check(std::set<ValueId> written);
    /// Adds one for every operation that forms the gradient of a parameter, by its index; its launches count as one.
    void count_gradients(std::vector<int>& formed) const;

private:
    template <class... Args>
    void problem(std::size_t op, fmt::format_string<Args...> format, Args&&... args) {
        problems_.push_back(fmt::format("{} op {} ({}): {}", block_.name, op, step_.names[block_.ops[op].label.name],
                                        fmt::format(format, std::forward<Args>(args)...)));
    }
    void check_kernel(std::size_t i, const kernels::Kernel& priced, const Detail& detail);
    void check_launch(std::size_t i, const kernels::Kernel& kernel, const Detail& detail,
                      const std::vector<std::uint64_t>& offsets);
    void check_collective(std::size_t i, const Collective& collective);
    void check_extent(std::size_t i, const View& view, std::string_view operand, std::uint64_t elements);
    [[nodiscard]] bool lasting(ValueId id) const {
        const Role role = flow_.values[id].role;
        return role != Role::activation && role != Role::gradient;
    }

    const StepProgram& step_;
    const Program& block_;
    const LayerFlow& flow_;
    std::vector<std::string>& problems_;
};

void BlockChecker::check_extent(std::size_t i, const View& view, std::string_view operand, std::uint64_t elements) {
    const Value& value = flow_.values[view.value];
    const std::uint64_t reach =
        view.columns == 0 ? elements : (elements / view.columns - 1) * view.stride + view.columns;
    if (view.offset + reach > value.elements)
        problem(i, "{} reaches to element {} of a {} of {}", operand, view.offset + reach, name(value.role),
                value.elements);
}

void BlockChecker::check_kernel(std::size_t i, const kernels::Kernel& priced, const Detail& detail) {
    const Launch& launch = detail.launch;
    const kernels::Kernel kernel = launched(priced, launch);
    if (launch.shared.step == SharedSequences::Step::none) check_launch(i, kernel, detail, {});
    for (std::uint32_t rank = 0; launch.shared.step != SharedSequences::Step::none && rank < launch.shared.ranks;
         ++rank)
        for (const SharedLaunch& each : shared_launches(kernel, launch, rank))
            check_launch(i, each.kernel, detail, each.offsets);
    for (const Detail& more : detail.also) check_kernel(i, priced, more);
}

/// offsets: of each operand behind where its view begins; empty: none.
void BlockChecker::check_launch(std::size_t i, const kernels::Kernel& kernel, const Detail& detail,
                                const std::vector<std::uint64_t>& offsets) {
    const Launch& launch = detail.launch;
    const auto operands = contract(kernel, launch);
    if (operands.size() != detail.operands.size()) {
        problem(i, "{} operands, its kernel takes {}", detail.operands.size(), operands.size());
        return;
    }
    for (std::size_t k = 0; k < operands.size(); ++k) {
        const View& view = detail.operands[k];
        const Value& value = flow_.values[view.value];
        const bool rounded = launch.narrowed && k + 1 == operands.size();
        if (!rounded && in_memory(operands[k].format) != value.format)
            problem(i, "{} is {}, its kernel takes {}", operands[k].name, kernels::name(value.format),
                    kernels::name(operands[k].format));
        const bool table = launch.by_position && lasting(view.value);  // the run of positions is the interpreter's
        const std::uint64_t behind = offsets.empty() ? 0 : offsets[k];
        if (!table) check_extent(i, view, operands[k].name, behind + operands[k].elements * launch.parts);
    }
    if (const auto* attention = std::get_if<kernels::Attention>(&kernel))
        for (const View& view : {launch.position_bias, launch.position_gradient})
            if (view.given())
                check_extent(i, view, "position biases",
                             std::uint64_t{attention->seq} * attention->keys() * attention->heads);
}

void BlockChecker::check_collective(std::size_t i, const Collective& collective) {
    const Detail& detail = block_.details[i];
    if (detail.operands.size() != 2) {
        problem(i, "{} operands, a collective sends one and receives one", detail.operands.size());
        return;
    }
    const std::uint64_t ranks = step_.mesh.group_size(collective.group);
    const std::uint32_t size = kernels::size_of(flow_.values[detail.operands.front().value].format);
    const std::uint64_t all = collective.bytes / size;
    const bool gathers = collective.kind == CollectiveKind::all_gather,
               scatters = collective.kind == CollectiveKind::reduce_scatter;
    check_extent(i, detail.operands[0], "what it sends", gathers ? all / ranks : all);
    check_extent(i, detail.operands[1], "what it receives", scatters ? all / ranks : all);
}

std::set<ValueId> BlockChecker::check(std::set<ValueId> written) {
    for (std::size_t i = 0; i < block_.ops.size(); ++i) {
        const Op& op = block_.ops[i];
        try {
            if (const auto* compute = std::get_if<Compute>(&op.what))
                check_kernel(i, step_.kernels[compute->kernel], block_.details[i]);
            else
                check_collective(i, std::get<Collective>(op.what));
            const auto all = touched(step_, op, block_.details[i]);
            for (const Touched& each : all)
                if (each.reads && !lasting(each.view.value) && !written.contains(each.view.value))
                    problem(i, "reads {} {} before anything wrote it", name(flow_.values[each.view.value].role),
                            each.view.value);
            for (const Touched& each : all)
                if (each.writes) written.insert(each.view.value);
        } catch (const Error& error) {
            problem(i, "{}", error.what());
        }
    }
    return written;
}

void BlockChecker::count_gradients(std::vector<int>& formed) const {
    for (std::size_t i = 0; i < block_.ops.size(); ++i) {
        std::set<std::uint32_t> by_this;
        for (const Touched& each : touched(step_, block_.ops[i], block_.details[i]))
            if (const Value& value = flow_.values[each.view.value]; each.writes && value.role == Role::weight_gradient)
                by_this.insert(value.of);
        for (const std::uint32_t parameter : by_this) ++formed[parameter];
    }
}

/// The blocks of one layer: its forward, then its backward, each in one part or several.
void check_layer(const StepProgram& step, const std::vector<const Program*>& blocks,
                 std::vector<std::string>& problems) {
    const LayerFlow& flow = step.flows[blocks.front()->flow];
    std::set<ValueId> lies;
    for (const ValueId input : {flow.input, flow.second_input})
        if (input != no_value) lies.insert(input);
    std::vector<int> formed(flow.parameters.size(), 0);
    const auto forwards = std::ranges::count_if(blocks, [](const Program* block) { return block->is_forward(); });
    std::ptrdiff_t done = 0;
    for (const Program* block : blocks) {
        BlockChecker checker(step, *block, problems);
        lies = checker.check(std::move(lies));
        checker.count_gradients(formed);
        if (++done != std::max(forwards, std::ptrdiff_t{1})) continue;
        if (flow.output != no_value && !lies.contains(flow.output))
            problems.push_back(block->name + ": nothing writes its output");
        for (const ValueId gradient : {flow.output_gradient, flow.gradient_before, flow.second_gradient_before})
            if (gradient != no_value) lies.insert(gradient);
    }
    const std::string& last = blocks.back()->name;
    if (flow.input_gradient != no_value && !lies.contains(flow.input_gradient))
        problems.push_back(last + ": nothing writes the gradient of its input");
    if (flow.second_gradient != no_value && !lies.contains(flow.second_gradient))
        problems.push_back(last + ": nothing writes the gradient of its second input");
    for (std::size_t p = 0; p < formed.size(); ++p)
        if (formed[p] != 1)
            problems.push_back(fmt::format("{}: the gradient of {} is formed by {} operations", last,
                                           flow.parameters[p].name, formed[p]));
}

std::vector<const Program*> without(std::vector<const Program*> blocks, bool (*left_out)(const Program*)) {
    std::erase_if(blocks, left_out);
    return blocks;
}

}  // namespace

std::vector<std::string> flow_problems(const StepProgram& step) {
    std::vector<std::string> problems;
    std::vector<std::vector<const Program*>> layers(step.flows.size());
    for (const Program& block : step.blocks) {
        if (block.flow >= step.flows.size() || !step.flows[block.flow].complete) continue;
        if (block.details.size() == block.ops.size())
            layers[block.flow].push_back(&block);
        else
            problems.push_back(
                fmt::format("{}: {} operations, operands of {}", block.name, block.ops.size(), block.details.size()));
    }
    for (const auto& blocks : layers) {
        if (blocks.empty()) continue;
        const auto instead = [](const Program* block) { return block->instead; };
        const auto in_parts = [](const Program* block) { return !block->instead && !block->is_forward(); };
        check_layer(step, without(blocks, instead), problems);
        if (std::ranges::any_of(blocks, instead)) check_layer(step, without(blocks, in_parts), problems);
    }
    return problems;
}

}  // namespace orrery::strategies
