#include "strategies/contract.hpp"

#include <algorithm>
#include <set>

namespace orrery::strategies {

namespace {

using kernels::Format;
using kernels::Kernel;
using kernels::Operand;
using kernels::Pointwise;
using kernels::PointwiseKind;

bool moves_copies(PointwiseKind kind) { return kind == PointwiseKind::permute || kind == PointwiseKind::unpermute; }

/// kernels::operands() describes two copies a token.
std::vector<Operand> operands_of_copies(const Pointwise& p, const Launch& launch) {
    using enum kernels::Role;
    const Format format = kernels::format_of(p.dtype);
    const std::uint64_t copies = p.rows * p.cols, tokens = copies / kernels::top_k_of(launch.settings);
    if (p.kind == PointwiseKind::permute) {
        // As unpermute's backward it takes the gradient of the sums and leaves one of each copy: the same extents.
        return {{"x", format, tokens, in}, {"source", Format::int32, p.rows, in}, {"y", format, copies, out}};
    }
    return {{"x", format, copies, in},
            {"position", Format::int32, p.rows, in},
            {"weight", Format::fp32, p.rows, in},
            {"y", format, tokens, out}};
}

/// That softmax_merge reads, up to the last.
std::uint64_t log_sum_exps(const Pointwise& p, const kernels::Settings& settings) {
    const std::uint64_t queries = settings.positions > 0 ? std::min(settings.positions, p.rows) : p.rows;
    const std::uint64_t heads = p.cols / (settings.head > 0 ? settings.head : kernels::rope_head(p.cols));
    const std::uint64_t sequences = (p.rows + queries - 1) / queries;
    return (sequences * heads - 1) * (settings.lse_stride > 0 ? settings.lse_stride : queries) + queries;
}

/// Of heads that change places with tokens.
void adjust_copy(Operand& operand, const Pointwise& p, const kernels::Settings& settings) {
    if (settings.heads.columns == 0 || !settings.heads.joined) return;
    const std::uint64_t stride = settings.row_stride > 0 ? settings.row_stride : p.cols;
    operand.elements = operand.name == "x" ? p.rows * p.cols * settings.heads.shared : (p.rows - 1) * stride + p.cols;
}

void adjust(Operand& operand, const Pointwise& p, const Launch& launch) {
    const kernels::Settings& settings = launch.settings;
    const auto is = [&](std::string_view name) { return operand.name == name; };
    switch (p.kind) {
        case PointwiseKind::embedding:
        case PointwiseKind::embedding_backward:
            if (settings.table_rows > 0 && (is("table") || is("dtable")))
                operand.elements = settings.table_rows * p.cols;
            return;
        case PointwiseKind::rope:
        case PointwiseKind::rope_backward:
            if (settings.shared) return;
            if (is("cos") || is("sin")) {
                const std::uint64_t turned = settings.turned > 0 ? settings.turned : settings.head;
                if (settings.positions > 0) operand.elements = settings.positions * turned / 2;
            } else if (settings.row_stride > 0) {
                operand.elements = (p.rows - 1) * settings.row_stride + p.cols;
            }
            return;
        case PointwiseKind::log_add_exp:
            if (settings.row_stride > 0) operand.elements = (p.rows - 1) * settings.row_stride + p.cols;
            return;
        case PointwiseKind::softmax_merge:
            if (is("part") || is("whole")) operand.elements = log_sum_exps(p, settings);
            return;
        case PointwiseKind::transpose: adjust_copy(operand, p, settings); return;
        case PointwiseKind::moe_gate:
            if (is("expert") || is("weight")) operand.elements = p.rows * kernels::top_k_of(settings);
            return;
        case PointwiseKind::softmax_backward:
            if (launch.experts.given() && is("dy")) operand.elements = p.rows * kernels::top_k_of(settings);
            return;
        default: return;
    }
}

/// Heads of tokens' rows: as far as the last token's.
void adjust(Operand& operand, const kernels::Gemm& g, const Launch& launch) {
    const kernels::HeadMatrices& heads = launch.settings.heads;
    const bool left = operand.name == "a";
    const std::uint64_t stride = left ? heads.a_stride : operand.name == "b" ? heads.b_stride : 0;
    if (heads.count == 0 || stride == 0) return;
    const std::uint64_t columns = row_elements(g)[left ? 0 : 1], rows = operand.elements / (g.batch * columns);
    const std::uint64_t width = columns * (left ? heads.count : heads.count / heads.shared);
    operand.elements = (g.batch / heads.count * rows - 1) * stride + width;
}

/// Heads inside packed rows reach from their first element to the end of their part of the last row.
void adjust(Operand& operand, const kernels::Attention& a, const Launch& launch) {
    const kernels::Settings& settings = launch.settings;
    if (operand.name == "lse") {
        if (settings.lse_stride > 0)
            operand.elements = (std::uint64_t{a.batch} * a.heads - 1) * settings.lse_stride + a.seq;
        return;
    }
    if (operand.name == "o" || operand.name == "do") return;
    const bool of_queries = operand.name == "q" || operand.name == "dq";
    const std::uint64_t other = !of_queries ? settings.key_stride : operand.name == "dq" ? settings.dq_stride : 0;
    const std::uint64_t stride = other > 0 ? other : settings.row_stride;
    if (stride == 0) return;
    const std::uint64_t rows = std::uint64_t{a.batch} * (of_queries ? a.seq : a.keys());
    operand.elements = (rows - 1) * stride + operand.elements / rows;
}

/// Of one launch. A product that is added to its own result reads it; sums of weights' gradients have a format given.
std::vector<Touched> touched_by(const Kernel& kernel, const Detail& detail) {
    const Launch& launch = detail.launch;
    const std::vector<Operand> operands = contract(kernel, launch);
    const bool added = std::holds_alternative<kernels::Gemm>(kernel) && launch.settings.accumulate &&
                       !launch.settings.result.has_value();
    std::vector<Touched> all;
    for (std::size_t i = 0; i < detail.operands.size(); ++i) {
        const kernels::Role role = i < operands.size() ? operands[i].role : kernels::Role::in;
        const bool written = role != kernels::Role::in;
        const bool reads = (role != kernels::Role::out && (launch.zeroed >> i & 1U) == 0) || (written && added);
        all.push_back({detail.operands[i], reads, written});
    }
    for (const View& view : {launch.bias, launch.experts, launch.unpermuted, launch.unpermuted_weight, launch.begins,
                             launch.position_bias})
        if (view.given()) all.push_back({view, true, false});
    for (const View& view : {launch.unpermuted_dweight, launch.position_gradient})
        if (view.given()) all.push_back({view, false, true});
    return all;
}

/// All launches of an operation: what an earlier one of them has written, a later one finds.
std::vector<Touched> touched_by_all(const Kernel& priced, const Detail& detail) {
    std::vector<Touched> all = touched_by(launched(priced, detail.launch), detail);
    for (const Detail& more : detail.also)
        for (Touched each : touched_by(launched(priced, more.launch), more)) {
            const auto made = [&](const Touched& before) {
                return before.writes && before.view.value == each.view.value;
            };
            each.reads = each.reads && std::ranges::none_of(all, made);
            all.push_back(each);
        }
    return all;
}

}  // namespace

Kernel launched(const Kernel& priced, const Launch& launch) {
    Kernel kernel = launch.kernel.value_or(priced);
    if (launch.parts > 1) std::get<Pointwise>(kernel).rows /= launch.parts;
    return kernel;
}

std::vector<Kernel> launched_kernels(const StepProgram& step) {
    std::vector<Kernel> all;
    const auto add = [&](const Kernel& kernel) {
        if (std::ranges::find(all, kernel) == all.end()) all.push_back(kernel);
    };
    for (const Program& block : step.blocks)
        for (std::size_t i = 0; i < block.ops.size(); ++i) {
            const auto* compute = std::get_if<Compute>(&block.ops[i].what);
            if (compute == nullptr) continue;
            const Kernel& priced = step.kernels[compute->kernel];
            add(launched(priced, block.details[i].launch));
            for (const Detail& more : block.details[i].also) add(launched(priced, more.launch));
        }
    for (const Program& program : step.programs)
        for (const Op& op : program.ops) {
            if (const auto* compute = std::get_if<Compute>(&op.what)) add(step.kernels[compute->kernel]);
            if (const auto* host = std::get_if<HostCompute>(&op.what)) add(step.kernels[host->kernel]);
        }
    return all;
}

std::vector<Operand> contract(const Kernel& kernel, const Launch& launch) {
    const auto* pointwise = std::get_if<Pointwise>(&kernel);
    if (pointwise != nullptr && moves_copies(pointwise->kind)) return operands_of_copies(*pointwise, launch);
    std::vector<Operand> operands = kernels::operands(kernel, launch.settings);
    for (Operand& operand : operands) {
        if (pointwise != nullptr) adjust(operand, *pointwise, launch);
        if (const auto* gemm = std::get_if<kernels::Gemm>(&kernel)) adjust(operand, *gemm, launch);
        if (const auto* attention = std::get_if<kernels::Attention>(&kernel)) adjust(operand, *attention, launch);
    }
    return operands;
}

std::vector<Touched> touched(const StepProgram& step, const Op& op, const Detail& detail) {
    if (detail.operands.empty()) return {};
    if (const auto* compute = std::get_if<Compute>(&op.what))
        return touched_by_all(step.kernels[compute->kernel], detail);
    return {{detail.operands.front(), true, false}, {detail.operands.back(), false, true}};  // a collective
}

std::vector<ValueId> carried(const StepProgram& step, const Program& block) {
    const LayerFlow& flow = step.flows[block.flow];
    if (!flow.complete) return {};
    std::set<ValueId> written, read;
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
        const std::vector<Touched> all = touched(step, block.ops[i], block.details[i]);
        for (const Touched& each : all) {
            const Role role = flow.values[each.view.value].role;
            const bool passes = role == Role::activation || role == Role::gradient;
            if (each.reads && passes && !written.contains(each.view.value)) read.insert(each.view.value);
        }
        for (const Touched& each : all)
            if (each.writes) written.insert(each.view.value);
    }
    return {read.begin(), read.end()};
}

}  // namespace orrery::strategies
