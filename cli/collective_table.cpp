#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/collective.hpp"

namespace orrery::cli {

namespace {

using kernels::CollectiveKind;

constexpr double most_bytes = 1e15;
constexpr std::size_t most_sizes = 1000;
constexpr double element_bytes = 4;  ///< nccl-tests' default type, float

Error bad_size(const std::string& text, const char* why) {
    return Error("", "", fmt::format("--bytes \"{}\": {}", text, why), "as nccl-tests: 8, 64K, 1M, 4G; or 1M..4G");
}

bool reduces(CollectiveKind kind) {
    return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter;
}

/// Elements as nccl-tests counts them: of one rank's share where the collective gathers or scatters.
double count(CollectiveKind kind, std::uint32_t ranks, double bytes) {
    const double elements = std::floor(bytes / element_bytes);
    const bool shared = kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter ||
                        kind == CollectiveKind::all_to_all;
    return shared ? std::floor(elements / ranks) : elements;
}

struct Rates {
    double algorithm, bus;  ///< GB/s
};
Rates rates(const CollectiveTable& table, const CollectiveRow& row) {
    if (row.time.seconds <= 0) return {0, 0};
    const double algorithm = row.bytes / row.time.seconds / 1e9;
    return {algorithm, algorithm * kernels::bus_factor(table.kind, table.ranks)};
}

/// Microseconds as nccl-tests prints them: fewer digits the larger they are.
std::string microseconds(double seconds) {
    const double us = seconds * 1e6;
    return us >= 10000 ? fmt::format("{:7.0f}", us)
           : us >= 100 ? fmt::format("{:7.1f}", us)
                       : fmt::format("{:7.2f}", us);
}

nlohmann::json measured_json(const calibrate::CollectiveTable& table) {
    nlohmann::json points = nlohmann::json::array();
    for (const calibrate::CollectivePoint& point : table.points)
        points.push_back({{"bytes", point.bytes}, {"time_us", point.seconds * 1e6}});
    nlohmann::json json{{"gpus", table.ranks},
                        {"nodes", table.nodes},
                        {"origin", table.provenance.origin},
                        {"points", std::move(points)}};
    if (table.nvlink_bytes_per_second > 0) json["nvlink_GB_per_s"] = table.nvlink_bytes_per_second / 1e9;
    return json;
}

}  // namespace

double parse_size(const std::string& text) {
    double value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || !std::isfinite(value)) throw bad_size(text, "is no size");
    const std::string unit(end, text.data() + text.size());
    const std::size_t power = unit.empty() ? 0 : std::string("kKmMgG").find(unit[0]) / 2 + 1;
    if (unit.size() > 1 || (!unit.empty() && power > 3)) throw bad_size(text, "has an unknown unit");
    const double bytes = std::floor(value * std::pow(1024.0, static_cast<double>(power)));
    if (!(bytes >= 1 && bytes <= most_bytes)) throw bad_size(text, "must be between 1 byte and 1e15");
    return bytes;
}

std::vector<double> parse_sizes(const std::string& text, double factor) {
    const std::size_t dots = text.find("..");
    if (dots == std::string::npos) return {parse_size(text)};
    const double first = parse_size(text.substr(0, dots)), last = parse_size(text.substr(dots + 2));
    if (last < first) throw bad_size(text, "ends below its beginning");
    if (!std::isfinite(factor) || factor <= 1)
        throw Error("", "", fmt::format("--factor {} does not grow", factor), "a number above 1, such as 2");
    std::vector<double> sizes;
    for (double size = first; size <= last; size = std::max(size + 1, std::floor(size * factor))) {
        sizes.push_back(size);
        if (sizes.size() > most_sizes) throw bad_size(text, "makes more than 1000 sizes with this factor");
    }
    return sizes;
}

std::string to_text(const CollectiveTable& table) {
    std::string out = fmt::format("# {} on {} GPUs of {} nodes, cluster {}, profile {}; predicted, out of place\n#\n",
                                  kernels::name(table.kind), table.ranks, table.nodes, table.cluster, table.profile);
    out += fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>6}  {}\n", "size", "count",
                       "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "algorithm");
    out += fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}\n", "(B)", "(elements)", "", "", "",
                       "(us)", "(GB/s)", "(GB/s)");
    double sum = 0;
    for (const CollectiveRow& row : table.rows) {
        const Rates rate = rates(table, row);
        sum += rate.bus;
        out +=
            fmt::format("{:>12.0f}  {:>12.0f}  {:>8}  {:>6}  {:>6}  {}  {:>6.2f}  {:>6.2f}  {:>6}  {} {}\n", row.bytes,
                        count(table.kind, table.ranks, row.bytes), "float", reduces(table.kind) ? "sum" : "none",
                        table.kind == CollectiveKind::broadcast ? 0 : -1, microseconds(row.time.seconds),
                        rate.algorithm, rate.bus, "N/A", row.time.algorithm, row.time.protocol);
    }
    out += fmt::format("# Avg bus bandwidth    : {:g}\n#\n", sum / static_cast<double>(table.rows.size()));
    const CollectiveRow& last = table.rows.back();
    out += fmt::format("# {}: {}\n", format_bytes(last.bytes), last.time.why);
    for (const sim::LinkShare& link : last.time.busiest)
        out += fmt::format("# busiest  {:>5.1f}%  {:>10}  {}{}\n", 100 * link.utilisation, format_bytes(link.bytes),
                           link.link, link.as_busy > 1 ? fmt::format(" (and {} more)", link.as_busy - 1) : "");
    return out;
}

report::Records to_records(const CollectiveTable& table) {
    report::Records all(
        {{"bytes"}, {"count"}, {"time_us"}, {"algbw_GBps"}, {"busbw_GBps"}, {"algorithm"}, {"protocol"}});
    for (const CollectiveRow& row : table.rows) {
        const Rates rate = rates(table, row);
        all.row({row.bytes, count(table.kind, table.ranks, row.bytes), row.time.seconds * 1e6, rate.algorithm, rate.bus,
                 row.time.algorithm, row.time.protocol});
    }
    return all;
}

nlohmann::json to_json(const CollectiveTable& table) {
    nlohmann::json rows = nlohmann::json::array(), measured = nlohmann::json::array();
    for (const calibrate::CollectiveTable& each : table.measured) measured.push_back(measured_json(each));
    for (const CollectiveRow& row : table.rows) {
        const Rates rate = rates(table, row);
        nlohmann::json links = nlohmann::json::array();
        for (const sim::LinkShare& link : row.time.busiest)
            links.push_back({{"link", link.link},
                             {"bytes", link.bytes},
                             {"utilisation", link.utilisation},
                             {"equally_busy", link.as_busy}});
        nlohmann::json weighed = nlohmann::json::array();
        for (const sim::Weighed& each : row.time.weighed)
            weighed.push_back(
                {{"algorithm", each.algorithm}, {"protocol", each.protocol}, {"time_us", each.seconds * 1e6}});
        rows.push_back({{"bytes", row.bytes},
                        {"count", count(table.kind, table.ranks, row.bytes)},
                        {"time_us", row.time.seconds * 1e6},
                        {"algbw_GBps", rate.algorithm},
                        {"busbw_GBps", rate.bus},
                        {"algorithm", row.time.algorithm},
                        {"protocol", row.time.protocol},
                        {"why", row.time.why},
                        {"weighed", weighed},
                        {"busiest_links", links}});
    }
    return {{"collective", kernels::name(table.kind)},
            {"cluster", table.cluster},
            {"profile", table.profile},
            {"gpus", table.ranks},
            {"nodes", table.nodes},
            {"bus_factor", kernels::bus_factor(table.kind, table.ranks)},
            {"rows", rows},
            {"measured", measured}};
}

}  // namespace orrery::cli
