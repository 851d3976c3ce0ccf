#include "report/sharing.hpp"

#include <fmt/format.h>

#include "base/table.hpp"
#include "base/units.hpp"

namespace orrery::report {

namespace {

std::string jobs_table(const sim::Sharing& p) {
    Table table({{"job", Table::Align::left}, {"GPUs"}, {"starts at"}, {"step alone"}, {"shared"}, {"longer"}});
    for (const sim::JobStep& job : p.jobs)
        table.row({job.name, fmt::format("{}", job.gpus), job.starts_at_s > 0 ? format_seconds(job.starts_at_s) : "0",
                   format_seconds(job.alone_s), format_seconds(job.shared_s),
                   fmt::format("{:.2f}%", 100 * (job.shared_s / job.alone_s - 1))});
    return table.to_text();
}

std::string links_table(const sim::Sharing& p) {
    Table table({{"shared link", Table::Align::left}, {"alike"}, {"carries"}, {"own"}, {"of others"}, {"busy"}});
    for (const sim::SharedLink& link : p.shared_links)
        table.row({link.name, fmt::format("{}", link.links), fmt::format("{:.4g} GB/s", link.bytes_per_second / 1e9),
                   format_bytes(link.own_bytes), format_bytes(link.other_bytes),
                   fmt::format("{:.1f}%", 100 * link.busy)});
    return table.to_text();
}

}  // namespace

std::string sharing_text(const sim::Sharing& p) {
    std::string text;
    if (!p.jobs.empty()) text += jobs_table(p) + '\n';
    if (!p.shared_links.empty()) text += links_table(p) + '\n';
    return text;
}

}  // namespace orrery::report
