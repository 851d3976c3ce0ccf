#include "report/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/error.hpp"
#include "base/table.hpp"
#include "base/units.hpp"
#include "report/census.hpp"
#include "report/operation.hpp"

namespace orrery::report {

namespace {

using strategies::Collective;
using Align = Table::Align;

std::string share(double seconds, double step) { return fmt::format("{:.2f}%", 100 * seconds / step); }

std::string kernel_table(const Census& census, const calibrate::Predictor& predictor, double step_seconds) {
    struct Row {
        const KernelUse* use;
        calibrate::Estimate each;
        [[nodiscard]] double total() const { return each.seconds * static_cast<double>(use->count); }
    };
    std::vector<Row> rows;
    for (const KernelUse& use : census.kernels) rows.push_back({&use, predictor.kernel(use.kernel)});
    std::ranges::stable_sort(rows, std::greater{}, &Row::total);
    Table table({{"count"}, {"each"}, {"total"}, {"share"}, {"kernel", Align::left}, {"from", Align::left}});
    double sum = 0;
    std::uint64_t count = 0;
    for (const Row& row : rows) {
        table.row({fmt::format("{}", row.use->count), format_seconds(row.each.seconds), format_seconds(row.total()),
                   share(row.total(), step_seconds), kernels::to_text(row.use->kernel),
                   (row.each.extrapolated ? "EXTRAPOLATED: " : "") + predictor.explain(row.use->kernel)});
        sum += row.total();
        count += row.use->count;
    }
    table.rule().row({fmt::format("{}", count), "", format_seconds(sum), share(sum, step_seconds), "all kernels"});
    return table.to_text();
}

/// What the reports say of one kind of transfer.
struct TransferRow {
    std::string group = "-", seconds = "-", algbw = "-", busbw = "-", from;
};

TransferRow timed(const TransferUse& use) {
    if (use.timed == 0) return {.from = "simulated inside a layer, with no span of its own"};
    return {.seconds = format_seconds(use.timed_seconds / static_cast<double>(use.timed)),
            .from = fmt::format("mean of {} spans of the simulated network", use.timed)};
}

TransferRow collective_row(const TransferUse& use, const Collective& collective, const strategies::Mesh& mesh,
                           const calibrate::Predictor& predictor, std::uint32_t gpus_per_node, std::uint32_t rank) {
    const std::vector<std::uint32_t> group = mesh.group(rank, collective.group);
    const auto ranks = static_cast<std::uint32_t>(group.size());
    const bool one_node = group.front() / gpus_per_node == group.back() / gpus_per_node;
    TransferRow row = timed(use);
    row.group = fmt::format("{}", ranks);
    double seconds = use.timed == 0 ? 0 : use.timed_seconds / static_cast<double>(use.timed);
    if (one_node && ranks > 1) {
        const auto bytes = static_cast<double>(collective.bytes);
        const calibrate::Estimate estimate = predictor.collective(collective.kind, ranks, bytes);
        seconds = estimate.seconds;
        row.seconds = format_seconds(seconds);
        row.from = (estimate.extrapolated ? "EXTRAPOLATED: " : "") + predictor.explain(collective.kind, ranks, bytes);
    }
    if (seconds > 0) {
        const double algbw = static_cast<double>(collective.bytes) / seconds / 1e9;
        row.algbw = fmt::format("{:.2f}", algbw);
        row.busbw = fmt::format("{:.2f}", algbw * kernels::bus_factor(collective.kind, ranks));
    }
    return row;
}

/// Text of a transfer without an Op around it.
std::string text_of(const strategies::StepProgram& step, const strategies::What& what) {
    strategies::Op op;
    op.what = what;
    return describe(step, op);
}

std::string transfer_table(const Census& census, const strategies::StepProgram& step,
                           const calibrate::Predictor& predictor, std::uint32_t gpus_per_node, std::uint32_t rank) {
    Table table({{"count"},
                 {"size (B)"},
                 {"ranks"},
                 {"time"},
                 {"algbw (GB/s)"},
                 {"busbw (GB/s)"},
                 {"transfer", Align::left},
                 {"from", Align::left}});
    for (const TransferUse& use : census.transfers) {
        const auto* collective = std::get_if<Collective>(&use.what);
        const TransferRow row = collective != nullptr
                                    ? collective_row(use, *collective, step.mesh, predictor, gpus_per_node, rank)
                                    : timed(use);
        strategies::Op op;
        op.what = use.what;
        table.row({fmt::format("{}", use.count), fmt::format("{:.0f}", bytes_of(step, op)), row.group, row.seconds,
                   row.algbw, row.busbw, text_of(step, use.what), row.from});
    }
    return table.to_text();
}

}  // namespace

std::string constants_table(const calibrate::Profile& profile) {
    Table table({{"constant", Align::left}, {"value"}, {"unit", Align::left}, {"origin", Align::left}});
    for (const auto& [name, constant] : profile.constants)
        table.row({name, fmt::format("{:.4g}", constant.value), constant.unit, constant.origin});
    return table.to_text();
}

std::string explain(const scenarios::Scenario& scenario, const sim::Prediction& prediction,
                    const calibrate::Predictor& predictor, std::uint32_t gpus_per_node, std::uint32_t rank) {
    const strategies::StepProgram& step = prediction.program;
    if (rank >= step.role.size())
        throw Error(fmt::format("there is no rank {}: {} has {} ranks", rank, scenario.name, step.role.size()),
                    fmt::format("choose 0 to {}", step.role.size() - 1));
    const std::uint32_t role = step.role[rank];
    const std::vector<sim::Span>* spans = nullptr;
    for (const sim::RankClass& ranks : prediction.trace)
        if (ranks.role == role && spans == nullptr) spans = &ranks.spans;
    const Census uses = census(step, role, spans);

    std::string text = fmt::format("{}: rank {} runs {}\n\n", scenario.name, rank, step.programs[role].name);
    text += strategies::to_text(step, role) + '\n';
    text += fmt::format("kernels of one step, {}\n", format_seconds(prediction.step_time_s));
    text += kernel_table(uses, predictor, prediction.step_time_s) + '\n';
    if (!uses.transfers.empty()) {
        text += "transfers, in the conventions of nccl-tests\n";
        text += transfer_table(uses, step, predictor, gpus_per_node, rank) + '\n';
    }
    text += fmt::format("constants of profile {}\n", predictor.profile().name);
    return text + constants_table(predictor.profile());
}

}  // namespace orrery::report
