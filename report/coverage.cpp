#include "report/coverage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/units.hpp"

namespace orrery::report {

namespace {

using namespace calibrate;

/// From the least to the greatest of a quantity over the points of a table: "1.00 KiB to 2.00 GiB"; one value where
/// they are alike.
template <class Points, class Quantity, class Format>
std::string range(const Points& points, Quantity quantity, Format format) {
    if (points.empty()) return "-";
    const auto [least, most] = std::ranges::minmax(points, {}, quantity);
    const auto from = format(std::invoke(quantity, least)), to = format(std::invoke(quantity, most));
    return from == to ? from : fmt::format("{} to {}", from, to);
}

std::string whole(std::uint64_t value) { return fmt::format("{}", value); }

std::string pass_text(kernels::GemmPass pass) {
    return pass == kernels::GemmPass::forward ? "" : fmt::format(" {}", kernels::name(pass));
}

template <class Points>
std::string shapes(const Points& points) {
    using Point = typename Points::value_type;
    return fmt::format("m {}, n {}, k {}", range(points, &Point::m, whole), range(points, &Point::n, whole),
                       range(points, &Point::k, whole));
}

void add_products(const Profile& profile, std::vector<Coverage>& all) {
    for (const GemmTable& t : profile.gemm)
        all.push_back({fmt::format("gemm {}{}", kernels::name(t.dtype), pass_text(t.pass)), t.points.size(),
                       shapes(t.points), &t.provenance});
    for (const BatchedGemmTable& t : profile.batched_gemm)
        all.push_back({fmt::format("batched gemm {}{}", kernels::name(t.dtype), pass_text(t.pass)), t.points.size(),
                       fmt::format("batch {}, {}", range(t.points, &BatchedGemmPoint::batch, whole), shapes(t.points)),
                       &t.provenance});
    for (const ConvolutionTable& t : profile.convolution) {
        const auto images = [](const ConvolutionPoint& point) { return point.shape.batch; };
        const auto rows = [](const ConvolutionPoint& point) { return point.shape.rows; };
        all.push_back({fmt::format("convolution {}{}", kernels::name(t.dtype), pass_text(t.pass)), t.points.size(),
                       fmt::format("batch {}, rows {}", range(t.points, images, whole), range(t.points, rows, whole)),
                       &t.provenance});
    }
    for (const AttentionTable& t : profile.attention)
        all.push_back({fmt::format("attention {}{}{}", t.backward ? "backward" : "forward", t.causal ? " causal" : "",
                                   t.dropout ? ", dropout" : ""),
                       t.points.size(),
                       fmt::format("batch {}, sequence {}", range(t.points, &AttentionPoint::batch, whole),
                                   range(t.points, &AttentionPoint::seq, whole)),
                       &t.provenance});
}

}  // namespace

std::vector<Coverage> coverage(const Profile& profile) {
    std::vector<Coverage> all;
    add_products(profile, all);
    for (const PointwiseTable& t : profile.pointwise)
        all.push_back({std::string(kernels::name(t.kind)), t.points.size(),
                       range(t.points, &PointwisePoint::bytes, format_bytes), &t.provenance});
    for (const CollectiveTable& t : profile.collectives) {
        const std::string on = t.nodes > 1 ? fmt::format(" on {} nodes", t.nodes)
                               : t.nvlink_bytes_per_second > 0
                                   ? fmt::format(" on {:.0f} GB/s of NVLinks", t.nvlink_bytes_per_second / 1e9)
                                   : "";
        all.push_back({fmt::format("{}, {} ranks{}", kernels::name(t.kind), t.ranks, on), t.points.size(),
                       range(t.points, &CollectivePoint::bytes, format_bytes), &t.provenance});
    }
    for (const CopyTable& t : profile.copies)
        all.push_back({fmt::format("copy {}", kernels::name(t.kind)), t.points.size(),
                       range(t.points, &CollectivePoint::bytes, format_bytes), &t.provenance});
    return all;
}

Records coverage_records(const Profile& profile) {
    Records all(
        {{"table"}, {"points"}, {"range"}, {"origin"}, {"device"}, {"date"}, {"software"}, {"clocks"}, {"licence"}});
    for (const Coverage& each : coverage(profile))
        all.row({each.table, each.points, each.range, each.from->origin, each.from->device, each.from->date,
                 each.from->software, each.from->clocks, each.from->licence});
    return all;
}

Records constants_records(const Profile& profile) {
    Records all({{"name"}, {"value"}, {"unit"}, {"origin"}});
    for (const auto& [key, constant] : profile.constants)
        all.row({key, constant.value, constant.unit, constant.origin});
    return all;
}

Records held_out_records(const Profile& profile) {
    Records all({{"suite"}, {"points"}, {"mean"}, {"median"}, {"p90"}});
    for (const auto& [suite, error] : profile.held_out)
        all.row({suite, error.points, error.mean, error.median, error.p90});
    return all;
}

}  // namespace orrery::report
