#include "report/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/table.hpp"
#include "base/units.hpp"
#include "report/census.hpp"
#include "report/noted_table.hpp"
#include "report/operation.hpp"
#include "sim/kernel_price.hpp"

namespace orrery::report {

namespace {

using strategies::Collective;
using Align = Table::Align;

std::string share(double seconds, double step) { return fmt::format("{:.2f}%", 100 * seconds / step); }

/// Where an estimate comes from, without the name and the time with which the predictor begins: the row shows both.
std::string origin(const calibrate::Estimate& estimate, const std::string& explanation) {
    const std::string known = ": " + format_seconds(estimate.seconds);
    const std::size_t at = explanation.substr(0, explanation.find('\n')).find(known);
    std::string text = at == std::string::npos ? explanation : explanation.substr(at + known.size());
    if (text.starts_with(", ")) text.replace(0, 2, "  ");
    return (estimate.extrapolated ? "  EXTRAPOLATED, outside the measured range\n" : "") +
           (estimate.derived.empty() ? "" : fmt::format("  DERIVED: {}\n", estimate.derived)) + text;
}

/// A kernel with its time in this step, without the gap behind it.
struct KernelRow {
    const KernelUse* use;
    sim::KernelPrice price;
    [[nodiscard]] double each() const { return price.seconds(); }
    [[nodiscard]] double total() const { return each() * static_cast<double>(use->count); }
};

/// The most expensive first.
std::vector<KernelRow> kernel_rows(const Census& census, const sim::KernelPrices& prices) {
    std::vector<KernelRow> rows;
    for (const KernelUse& use : census.kernels) rows.push_back({&use, prices.of(use.kernel)});
    std::ranges::stable_sort(rows, std::greater{}, &KernelRow::total);
    return rows;
}

std::string kernel_table(const std::vector<KernelRow>& rows, const calibrate::Predictor& predictor,
                         double step_seconds) {
    NotedTable table({{"count"}, {"each"}, {"total"}, {"share"}, {"kernel", Align::left}});
    double sum = 0;
    std::uint64_t count = 0;
    for (const KernelRow& row : rows) {
        table.row({fmt::format("{}", row.use->count), format_seconds(row.each()), format_seconds(row.total()),
                   share(row.total(), step_seconds), kernels::to_text(row.use->kernel)},
                  origin(row.price.estimate, predictor.explain(row.use->kernel)) + row.price.explain());
        sum += row.total();
        count += row.use->count;
    }
    table.row({fmt::format("{}", count), "", format_seconds(sum), share(sum, step_seconds), "all kernels"}, "");
    return table.to_text();
}

/// What a report says of one kind of transfer.
struct TransferRow {
    std::string ranks = "-", time = "-", algbw = "-", busbw = "-", note;
};

double mean_span(const TransferUse& use) {
    return use.timed == 0 ? 0 : use.timed_seconds / static_cast<double>(use.timed);
}

TransferRow timed(const TransferUse& use) {
    if (use.timed == 0) return {.note = "  simulated inside a layer, without a span of its own"};
    return {.time = format_seconds(mean_span(use)),
            .note = use.timed == 1 ? "  its span on the simulated network"
                                   : fmt::format("  mean of {} spans on the simulated network", use.timed)};
}

/// Measured, or derived as a warning of the prediction says.
TransferRow copy_row(const TransferUse& use, const strategies::Copy& copy) {
    TransferRow row = timed(use);
    if (use.timed == 0) return row;
    row.algbw = fmt::format("{:.2f}", static_cast<double>(copy.bytes) / mean_span(use) / 1e9);
    row.note = copy.of_drives() ? "  between a host and its drives" : "  between a GPU and its host";
    return row;
}

/// group: GPUs. One inside a node has a time from the profile, and tokens that it sends their own; another's is what
/// its flows took.
TransferRow collective_row(const TransferUse& use, const Collective& collective, const strategies::OnceANode* tokens,
                           const std::vector<std::uint32_t>& group, const Device& device) {
    const auto ranks = static_cast<std::uint32_t>(group.size());
    const auto bytes = static_cast<double>(collective.bytes);
    TransferRow row = timed(use);
    row.ranks = fmt::format("{}", ranks);
    double seconds = mean_span(use);
    if (ranks > 1 && group.front() / device.node.gpus() == group.back() / device.node.gpus()) {
        const double nvlink = device.node.ring_bytes_per_second(ranks);
        const calibrate::Estimate estimate = device.predictor.collective(collective.on_links(), ranks, bytes, nvlink);
        const double of_tokens = tokens != nullptr ? sim::seconds_of_tokens(*tokens) : 0.0;
        seconds = estimate.seconds + of_tokens;
        row.time = format_seconds(seconds);
        row.note = origin(estimate, device.predictor.explain(collective.on_links(), ranks, bytes, nvlink));
        if (of_tokens > 0)
            row.note += fmt::format("; {} of {} tokens' kernels", format_seconds(of_tokens), tokens->tokens);
    }
    if (seconds > 0) {
        row.algbw = fmt::format("{:.2f}", bytes / seconds / 1e9);
        row.busbw = fmt::format("{:.2f}", bytes / seconds / 1e9 * kernels::bus_factor(collective.on_links(), ranks));
    }
    return row;
}

std::string transfer_table(const Census& census, const strategies::StepProgram& step,
                           const strategies::RankPlacement& placement, const Device& device, std::uint32_t rank) {
    const auto group = [&](const Collective& of) { return placement.gpus(step.mesh.group(rank, of.group)); };
    NotedTable table(
        {{"count"}, {"size (B)"}, {"ranks"}, {"time"}, {"algbw (GB/s)"}, {"busbw (GB/s)"}, {"transfer", Align::left}});
    for (const TransferUse& use : census.transfers) {
        const auto* collective = std::get_if<Collective>(&use.op.what);
        const auto* copy = std::get_if<strategies::Copy>(&use.op.what);
        const TransferRow row = collective != nullptr ? collective_row(use, *collective, step.once_a_node(*collective),
                                                                       group(*collective), device)
                                : copy != nullptr     ? copy_row(use, *copy)
                                                      : timed(use);
        table.row({fmt::format("{}", use.count), fmt::format("{:.0f}", bytes_of(step, use.op)), row.ranks, row.time,
                   row.algbw, row.busbw, describe(step, use.op)},
                  row.note);
    }
    return table.to_text();
}

/// What one rank runs. Throws Error when there is no such rank.
Census uses_of(const scenarios::Scenario& scenario, const sim::Prediction& prediction, std::uint32_t rank,
               const std::vector<std::vector<sim::Span>>& blocks = {}) {
    const strategies::StepProgram& step = prediction.program;
    if (rank >= step.role.size())
        throw Error(fmt::format("there is no rank {}: {} has {} ranks", rank, scenario.name, step.role.size()),
                    fmt::format("choose 0 to {}", step.role.size() - 1));
    const std::uint32_t role = step.role[rank];
    const std::vector<sim::Span>* spans = nullptr;
    for (const sim::RankClass& ranks : prediction.trace)
        if (ranks.role == role && spans == nullptr) spans = &ranks.spans;
    return census(step, role, spans, blocks);
}

}  // namespace

std::string constants_table(const calibrate::Profile& profile) {
    Table table({{"constant", Align::left}, {"value"}, {"unit", Align::left}, {"origin", Align::left}});
    for (const auto& [name, constant] : profile.constants)
        table.row({name, fmt::format("{:.4g}", constant.value), constant.unit, constant.origin});
    return table.to_text();
}

std::string explain(const scenarios::Scenario& scenario, const sim::Prediction& prediction, const Device& device,
                    std::uint32_t rank) {
    const Census uses = uses_of(scenario, prediction, rank);
    const strategies::StepProgram& step = prediction.program;
    const std::uint32_t role = step.role[rank];
    std::string text = fmt::format("{}: rank {} runs {}\n\n", scenario.name, rank, step.programs[role].name);
    text += strategies::to_text(step, role) + '\n';
    text += fmt::format("kernels of one step, {}\n", format_seconds(prediction.step_time_s));
    const auto& [predictor, gpu, node] = device;
    const sim::KernelPrices prices(step, scenario.plan, gpu, predictor, node.gpus());
    text += kernel_table(kernel_rows(uses, prices), predictor, prediction.step_time_s) + '\n';
    if (!uses.transfers.empty()) {
        text += "transfers, in the conventions of nccl-tests\n";
        text += transfer_table(uses, step, scenario.plan.placement, device, rank) + '\n';
    }
    text += fmt::format("constants of profile {}\n", predictor.profile().name);
    return text + constants_table(predictor.profile());
}

namespace {

/// The first line that says something.
std::string first_line(std::string text) {
    text.erase(0, std::min(text.size(), text.find_first_not_of(" ,\n")));
    text.resize(std::min(text.size(), text.find('\n')));
    return text;
}

/// A row of the table of all that a rank runs.
struct Expense {
    double total = 0;
    std::vector<Value> cells;
};

Expense expense(const KernelRow& row, const calibrate::Predictor& predictor, double step_seconds) {
    const calibrate::Estimate& estimate = row.price.estimate;
    const char* const rests_on = estimate.extrapolated ? "beyond the measured sizes" : "measured";
    calibrate::Estimate bare;
    bare.seconds = estimate.seconds;
    return {row.total(),
            {"kernel", kernels::to_text(row.use->kernel), row.use->count, row.each(), row.total() / step_seconds,
             kernels::flops(row.use->kernel), kernels::bytes(row.use->kernel),
             estimate.derived.empty() ? Value(rests_on) : Value(fmt::format("derived: {}", estimate.derived)),
             first_line(origin(bare, predictor.explain(row.use->kernel)))}};
}

Expense expense(const TransferUse& use, const strategies::StepProgram& step, double step_seconds) {
    const double seconds = mean_span(use), total = seconds * static_cast<double>(use.count);
    const bool timed = use.timed > 0;
    return {total,
            {"transfer",
             describe(step, use.op),
             use.count,
             timed ? Value(seconds) : Value(),
             timed ? Value(total / step_seconds) : Value(),
             {},
             bytes_of(step, use.op),
             timed ? "simulated network" : "within a layer",
             {}}};
}

std::string amount(double value) { return value == 0 ? "-" : fmt::format("{:.3g}", value); }

}  // namespace

Records explained(const scenarios::Scenario& scenario, const sim::Prediction& prediction, const Device& device,
                  std::uint32_t rank) {
    const Census uses = uses_of(scenario, prediction, rank, prediction.blocks);
    const strategies::StepProgram& step = prediction.program;
    const auto& [predictor, gpu, node] = device;
    const sim::KernelPrices prices(step, scenario.plan, gpu, predictor, node.gpus());
    std::vector<Expense> rows;
    for (const KernelRow& row : kernel_rows(uses, prices))
        rows.push_back(expense(row, predictor, prediction.step_time_s));
    for (const TransferUse& use : uses.transfers) rows.push_back(expense(use, step, prediction.step_time_s));
    std::ranges::stable_sort(rows, std::greater{}, &Expense::total);
    Records all({{"part"},
                 {"what"},
                 {"count"},
                 {"seconds", "each", format_seconds},
                 {"share", "of step", [](double value) { return fmt::format("{:.2f}%", 100 * value); }},
                 {"flops", "FLOP", amount},
                 {"bytes", "bytes", amount},
                 {"rests_on", "rests on"},
                 {"source", "from"}});
    for (Expense& row : rows) all.row(std::move(row.cells));
    return all;
}

}  // namespace orrery::report
