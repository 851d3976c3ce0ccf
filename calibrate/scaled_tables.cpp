#include "calibrate/scaled_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::calibrate {

namespace {

/// A table that starts above this size holds no latency-bound kernel.
constexpr double largest_latency_bound = 1e6;

void scale_bandwidth(PointwiseTable& table, double ratio) {
    double latency = INFINITY;
    for (const auto& p : table.points) latency = std::min(latency, p.bytes / p.bytes_per_second);
    if (table.points.front().bytes > largest_latency_bound) latency = 0;
    for (auto& p : table.points) {
        const double seconds = p.bytes / p.bytes_per_second;
        p.bytes_per_second = p.bytes / (latency + (seconds - latency) / ratio);
    }
}

/// The most that the longest kernels of the tables reach: what comes from memory.
double stream_of(const std::vector<PointwiseTable>& tables) {
    double most = 0;
    for (const PointwiseTable& table : tables)
        most = std::max(most, std::ranges::max_element(table.points, {}, &PointwisePoint::bytes)->bytes_per_second);
    return most;
}

void without_larger_cache(PointwiseTable& table, double cache_bytes, double stream) {
    bool held = false;
    for (PointwisePoint& p : table.points) {
        if (p.bytes <= cache_bytes || p.bytes_per_second <= stream) continue;
        p.bytes_per_second = stream;
        held = true;
    }
    if (held)
        table.provenance.origin +=
            fmt::format("; beyond a cache of {:.1f} MB no faster than the longest", cache_bytes * 1e-6);
}

}  // namespace

void add_scaled(Profile& profile, const std::vector<PointwiseTable>& tables, std::string_view device, double ratio,
                double cache_bytes) {
    const double stream = cache_bytes > 0 ? ratio * stream_of(tables) : 0;
    for (PointwiseTable table : tables) {
        if (std::ranges::find(profile.pointwise, table.kind, &PointwiseTable::kind) != profile.pointwise.end())
            continue;
        if (ratio != 1.0) {
            scale_bandwidth(table, ratio);
            table.provenance.origin +=
                fmt::format("; {} scaled by {:.3f}, the ratio of memory bandwidths (estimate)", device, ratio);
        }
        if (cache_bytes > 0) without_larger_cache(table, cache_bytes, stream);
        profile.pointwise.push_back(std::move(table));
    }
}

void scale_links(CollectiveTable& table, double ratio, std::string_view why) {
    if (ratio == 1) return;
    const double latency = table.points.front().seconds;
    for (CollectivePoint& p : table.points) p.seconds = latency + (p.seconds - latency) / ratio;
    table.provenance.origin += fmt::format("; scaled by {:.3f}, {} (estimate)", ratio, why);
}

void round_times(Profile& profile) {
    const auto round = [](double value) { return std::stod(fmt::format("{:.4g}", value)); };
    for (auto& t : profile.gemm)
        for (auto& p : t.points) p.seconds = static_cast<float>(round(p.seconds * 1e6) * 1e-6);
    for (auto& t : profile.attention)
        for (auto& p : t.points) p.seconds = static_cast<float>(round(p.seconds * 1e6) * 1e-6);
    for (auto& t : profile.convolution)
        for (auto& p : t.points) p.seconds = static_cast<float>(round(p.seconds * 1e6) * 1e-6);
}

}  // namespace orrery::calibrate
