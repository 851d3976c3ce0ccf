#include "report/graph_use.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/table.hpp"
#include "base/units.hpp"

namespace orrery::report {

namespace {

using sim::RankUse;
using sim::TransferUse;

/// Rows of a table that a person reads; --format csv and json have all.
constexpr std::size_t most_rows = 20;

std::string share(double seconds, double of) { return of > 0 ? fmt::format("{:.1f}%", 100 * seconds / of) : "-"; }

/// Ranks that share a graph, ascending.
std::vector<std::vector<std::uint32_t>> by_graph(const strategies::StepGraph& step) {
    std::vector<std::vector<std::uint32_t>> ranks(step.graphs.size());
    for (std::uint32_t rank = 0; rank < step.ranks.size(); ++rank) ranks[step.ranks[rank].graph].push_back(rank);
    return ranks;
}

RankUse mean_of(const std::vector<std::uint32_t>& ranks, const std::vector<RankUse>& all) {
    RankUse mean;
    const double part = 1.0 / static_cast<double>(ranks.size());
    for (const std::uint32_t rank : ranks) {
        for (std::size_t use = 0; use < RankUse::uses; ++use) mean.seconds[use] += part * all[rank].seconds[use];
        mean.communicating += part * all[rank].communicating;
        mean.end = std::max(mean.end, all[rank].end);
    }
    return mean;
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
    if (ranks.size() == 1) return std::to_string(ranks.front());
    return fmt::format("{} (and {} alike)", ranks.front(), ranks.size() - 1);
}

std::string more_text(std::size_t all, const char* what) {
    return all <= most_rows ? "" : fmt::format("({} more {}: --format json)\n", all - most_rows, what);
}

std::string ranks_table(const strategies::StepGraph& step, const sim::GraphReplayed& ran) {
    std::vector<Table::Column> columns{{"rank", Table::Align::left}};
    for (std::size_t use = 0; use < RankUse::uses; ++use) columns.push_back({std::string(RankUse::name(use))});
    columns.push_back({"hidden"});
    columns.push_back({"ends at"});
    Table table(columns);
    const auto graphs = by_graph(step);
    for (std::size_t i = 0; i < std::min(graphs.size(), most_rows); ++i) {
        const RankUse mean = mean_of(graphs[i], ran.ranks);
        std::vector<std::string> cells{ranks_text(graphs[i])};
        for (const double seconds : mean.seconds) cells.push_back(share(seconds, ran.seconds));
        cells.push_back(share(mean.communicating - mean.seconds[RankUse::communication], ran.seconds));
        cells.push_back(format_seconds(mean.end));
        table.row(std::move(cells));
    }
    return table.to_text() + more_text(graphs.size(), "kinds of ranks");
}

double bus_rate(const TransferUse& use) {
    return use.seconds > 0
               ? kernels::bus_factor(use.kind, use.ranks) * use.bytes * static_cast<double>(use.count) / use.seconds
               : 0;
}

std::string transfers_table(const std::vector<TransferUse>& transfers) {
    if (transfers.empty()) return "no communication\n";
    Table table({{"communication", Table::Align::left},
                 {"ranks"},
                 {"nodes"},
                 {"size"},
                 {"count"},
                 {"each"},
                 {"alone"},
                 {"wait before"},
                 {"bus GB/s"}});
    for (std::size_t i = 0; i < std::min(transfers.size(), most_rows); ++i) {
        const TransferUse& use = transfers[i];
        const auto count = static_cast<double>(std::max<std::uint64_t>(use.count, 1));
        table.row({std::string(kernels::name(use.kind)), std::to_string(use.ranks), std::to_string(use.nodes),
                   format_bytes(use.bytes), format_grouped(use.count), format_seconds(use.seconds / count),
                   format_seconds(use.alone / count), format_seconds(use.waited / count),
                   fmt::format("{:.1f}", 1e-9 * bus_rate(use))});
    }
    return table.to_text() + more_text(transfers.size(), "kinds of communication");
}

}  // namespace

std::string graph_text(const GraphOrigin& origin, const strategies::StepGraph& step, const sim::GraphReplayed& ran) {
    std::vector<std::uint32_t> all(ran.ranks.size());
    std::iota(all.begin(), all.end(), 0U);
    const RankUse mean = mean_of(all, ran.ranks);
    std::string where;
    for (std::size_t use = 0; use < RankUse::uses; ++use)
        if (mean.seconds[use] > 0)
            where += fmt::format("{}{} {}", where.empty() ? "" : ", ", RankUse::name(use),
                                 share(mean.seconds[use], ran.seconds));
    return fmt::format(
        "TRACE     {}: {} ranks ({} different), {} nodes, {} groups\n"
        "CLUSTER   {}: {} of {} GPUs, profile {}\n"
        "STEP      {}\n"
        "          {} (mean of the ranks)\n"
        "KERNELS   {} as recorded, {} by their FLOPs and bytes in {}\n\n{}\n{}",
        origin.trace, step.ranks.size(), step.graphs.size(), format_grouped(ran.nodes), step.groups.size(),
        origin.cluster, step.ranks.size(), origin.gpus, origin.profile, format_seconds(ran.seconds), where,
        format_grouped(ran.recorded), format_grouped(ran.by_work), origin.dtype, ranks_table(step, ran),
        transfers_table(ran.transfers));
}

Records graph_ranks(const strategies::StepGraph& step, const sim::GraphReplayed& ran) {
    std::vector<Records::Column> columns{{"rank"}, {"alike"}};
    for (std::size_t use = 0; use < RankUse::uses; ++use) columns.push_back({fmt::format("{}_s", RankUse::name(use))});
    columns.push_back({"communicating_s"});
    columns.push_back({"end_s"});
    Records rows(std::move(columns));
    for (std::uint32_t rank = 0; rank < ran.ranks.size(); ++rank) {
        const RankUse& use = ran.ranks[rank];
        std::vector<Value> cells{rank, step.ranks[rank].graph};
        for (const double seconds : use.seconds) cells.emplace_back(seconds);
        cells.emplace_back(use.communicating);
        cells.emplace_back(use.end);
        rows.row(std::move(cells));
    }
    return rows;
}

nlohmann::ordered_json graph_json(const GraphOrigin& origin, const strategies::StepGraph& step,
                                  const sim::GraphReplayed& ran) {
    nlohmann::ordered_json transfers = nlohmann::ordered_json::array();
    for (const TransferUse& use : ran.transfers)
        transfers.push_back({{"kind", kernels::name(use.kind)},
                             {"ranks", use.ranks},
                             {"nodes", use.nodes},
                             {"bytes", use.bytes},
                             {"count", use.count},
                             {"seconds", use.seconds},
                             {"alone_s", use.alone},
                             {"waited_s", use.waited},
                             {"bus_bytes_per_second", bus_rate(use)}});
    return {{"trace", origin.trace},
            {"cluster", origin.cluster},
            {"profile", origin.profile},
            {"dtype", origin.dtype},
            {"step_time_s", ran.seconds},
            {"nodes", ran.nodes},
            {"kernels_as_recorded", ran.recorded},
            {"kernels_by_work", ran.by_work},
            {"ranks", graph_ranks(step, ran).objects()},
            {"communication", std::move(transfers)}};
}

}  // namespace orrery::report
