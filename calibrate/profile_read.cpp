#include <nlohmann/json.hpp>

#include "calibrate/profile_json.hpp"
#include "documents/value.hpp"

namespace orrery::calibrate {

namespace {

using documents::Value;
using nlohmann::json;

float seconds_from_us(double us) { return static_cast<float>(us * 1e-6); }

Provenance provenance(const Value& node) {
    node.only({"device", "clocks", "date", "software", "origin", "licence"});
    return {node.at("device").text(),   node.at("clocks").text(), node.at("date").text(),
            node.at("software").text(), node.at("origin").text(), node.at("licence").text()};
}

/// The optional column of relative half-widths: sets each point's.
template <class Point>
void half_widths(const Value& rows, std::vector<Point>& points) {
    if (!rows.has("half_width")) return;
    const auto values = rows.at("half_width").numbers();
    rows.at("half_width").expect_size(points.size());
    for (std::size_t i = 0; i < points.size(); ++i)
        points[i].half_width = static_cast<decltype(points[i].half_width)>(values[i]);
}

std::optional<kernels::Dtype> optional_dtype(const Value& node) {
    if (!node.has("dtype")) return std::nullopt;
    return node.at("dtype").named(kernels::dtype_from);
}

/// Bytes and times of transfers.
std::vector<CollectivePoint> transfers(const Value& rows) {
    rows.only({"bytes", "us", "half_width"});
    const auto bytes = rows.at("bytes").numbers(), us = rows.at("us").numbers();
    rows.at("us").expect_size(bytes.size());
    std::vector<CollectivePoint> points;
    for (std::size_t i = 0; i < bytes.size(); ++i) points.push_back({bytes[i], us[i] * 1e-6});
    half_widths(rows, points);
    return points;
}

std::vector<GemmPoint> gemm_grid(const Value& node) {
    node.only({"m", "n", "k", "us"});
    const auto m = node.at("m").counts(), n = node.at("n").counts(), k = node.at("k").counts();
    const Value us = node.at("us");
    us.expect_size(m.size() * n.size() * k.size());
    std::vector<GemmPoint> points;
    points.reserve(us.size());
    std::size_t i = 0;
    for (const auto a : m)
        for (const auto b : n)
            for (const auto c : k) {
                if (const json& cell = us.json()[i]; !cell.is_null())
                    points.push_back(
                        {a, b, c, seconds_from_us(cell.is_number() ? cell.get<double>() : us.at(i).number())});
                ++i;
            }
    return points;
}

std::vector<GemmPoint> gemm_rows(const Value& node) {
    node.only({"m", "n", "k", "us", "half_width"});
    const auto m = node.at("m").counts(), n = node.at("n").counts(), k = node.at("k").counts();
    const auto us = node.at("us").numbers();
    node.at("n").expect_size(m.size());
    node.at("k").expect_size(m.size());
    node.at("us").expect_size(m.size());
    std::vector<GemmPoint> points(m.size());
    for (std::size_t i = 0; i < m.size(); ++i) points[i] = {m[i], n[i], k[i], seconds_from_us(us[i])};
    half_widths(node, points);
    return points;
}

ScatterSettings scatter_settings(const Value& node) {
    node.only({"points", "trend", "length", "step", "noise", "rough"});
    return {node.at("points").count(), node.at("trend").numbers(), node.at("length").number(),
            node.at("step").number(),  node.at("noise").number(),  node.at("rough").boolean()};
}

GemmTable gemm_table(const Value& node) {
    node.only({"dtype", "pass", "scatter", "provenance", node.has("grid") ? "grid" : "rows"});
    GemmTable table{node.at("dtype").named(kernels::dtype_from), provenance(node.at("provenance")), {}};
    if (node.has("pass")) table.pass = node.at("pass").named(kernels::gemm_pass_from);
    if (node.has("scatter")) table.scatter = scatter_settings(node.at("scatter"));
    table.points = node.has("grid") ? gemm_grid(node.at("grid")) : gemm_rows(node.at("rows"));
    return table;
}

BatchedGemmTable batched_gemm_table(const Value& node) {
    node.only({"dtype", "pass", "provenance", "rows"});
    BatchedGemmTable table{node.at("dtype").named(kernels::dtype_from),
                           provenance(node.at("provenance")),
                           {},
                           node.at("pass").named(kernels::gemm_pass_from)};
    const Value rows = node.at("rows").only({"batch", "m", "n", "k", "us", "half_width"});
    const auto batch = rows.at("batch").counts(), m = rows.at("m").counts(), n = rows.at("n").counts();
    const auto k = rows.at("k").counts();
    const auto us = rows.at("us").numbers();
    for (const char* key : {"m", "n", "k", "us"}) rows.at(key).expect_size(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i)
        table.points.push_back({batch[i], m[i], n[i], k[i], seconds_from_us(us[i])});
    half_widths(rows, table.points);
    return table;
}

ConvolutionTable convolution_table(const Value& node) {
    node.only({"dtype", "pass", "provenance", "rows"});
    ConvolutionTable table{node.at("dtype").named(kernels::dtype_from),
                           node.at("pass").named(kernels::gemm_pass_from),
                           provenance(node.at("provenance")),
                           {}};
    const Value rows = node.at("rows");
    std::vector<std::string_view> columns{"us", "half_width"};
    for (const ConvolutionColumn& each : convolution_columns) columns.push_back(each.name);
    rows.only(columns);
    const auto us = rows.at("us").numbers();
    table.points.resize(us.size());
    for (std::size_t i = 0; i < us.size(); ++i)
        table.points[i] = {{.dtype = table.dtype, .pass = table.pass}, seconds_from_us(us[i])};
    for (const ConvolutionColumn& each : convolution_columns) {
        const Value values = rows.at(each.name);
        values.expect_size(us.size());
        const auto counts = values.counts();
        for (std::size_t i = 0; i < us.size(); ++i) table.points[i].shape.*each.member = counts[i];
    }
    half_widths(rows, table.points);
    return table;
}

AttentionTable attention_table(const Value& node) {
    node.only({"backward", "causal", "dropout", "dtype", "scatter", "provenance", "rows"});
    AttentionTable table{
        node.at("backward").boolean(), node.at("causal").boolean(), provenance(node.at("provenance")), {}};
    const Value rows = node.at("rows").only({"batch", "seq", "heads", "kv_heads", "head_dim", "us", "half_width"});
    const auto batch = rows.at("batch").counts(), seq = rows.at("seq").counts(), heads = rows.at("heads").counts();
    const auto kv = rows.at("kv_heads").counts(), dim = rows.at("head_dim").counts();
    const auto us = rows.at("us").numbers();
    for (const char* key : {"seq", "heads", "kv_heads", "head_dim", "us"}) rows.at(key).expect_size(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i)
        table.points.push_back({batch[i], seq[i], heads[i], kv[i], dim[i], seconds_from_us(us[i])});
    half_widths(rows, table.points);
    table.dtype = optional_dtype(node);
    table.dropout = node.has("dropout") && node.at("dropout").boolean();
    if (node.has("scatter")) table.scatter = scatter_settings(node.at("scatter"));
    return table;
}

PointwiseTable pointwise_table(const Value& node) {
    node.only({"kind", "dtype", "provenance", "rows"});
    PointwiseTable table{node.at("kind").named(kernels::pointwise_from), provenance(node.at("provenance")), {}};
    const Value rows = node.at("rows").only({"bytes", "cols", "GB_per_s", "half_width"});
    const auto bytes = rows.at("bytes").numbers(), rate = rows.at("GB_per_s").numbers();
    const auto cols = rows.at("cols").counts();
    for (const char* key : {"cols", "GB_per_s"}) rows.at(key).expect_size(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) table.points.push_back({bytes[i], cols[i], rate[i] * 1e9});
    half_widths(rows, table.points);
    table.dtype = optional_dtype(node);
    return table;
}

CollectiveTable collective_table(const Value& node) {
    node.only({"kind", "ranks", "nodes", "nvlink_GB_per_s", "provenance", "rows"});
    return {node.at("kind").named(kernels::collective_from),
            node.at("ranks").count32(),
            provenance(node.at("provenance")),
            transfers(node.at("rows")),
            node.has("nodes") ? node.at("nodes").count32() : 1,
            node.has("nvlink_GB_per_s") ? node.at("nvlink_GB_per_s").number() * 1e9 : 0};
}

CopyTable copy_table(const Value& node) {
    node.only({"kind", "provenance", "rows"});
    return {node.at("kind").named(kernels::copy_from), provenance(node.at("provenance")), transfers(node.at("rows"))};
}

OverlapPoint overlap_point(const Value& node) {
    node.only({"kernel", "beside", "kernel_slowdown", "beside_slowdown"});
    return {node.at("kernel").text(), node.at("beside").text(), node.at("kernel_slowdown").number(),
            node.at("beside_slowdown").number()};
}

Noise noise(const Value& node) {
    node.only({"points", "median", "p90", "throttled", "disturbed", "unsettled"});
    return {node.at("points").count32(),    node.at("median").number(),     node.at("p90").number(),
            node.at("throttled").count32(), node.at("disturbed").count32(), node.at("unsettled").count32()};
}

template <class Table>
std::vector<Table> tables(const Value& list, Table (*read)(const Value&)) {
    std::vector<Table> out;
    for (const Value& node : list.list()) out.push_back(read(node));
    return out;
}

}  // namespace

Profile profile_from(const json& document) {
    const Value root(document, "", "calibrate/README.md describes the profile format");
    root.only({"version", "name", "device", "made_by", "constants", "gemm", "attention", "pointwise", "collectives",
               "held_out", "batched_gemm", "convolution", "copies", "overlap", "noise", "load"});
    Profile profile;
    profile.version = static_cast<int>(root.at("version").count32());
    profile.name = root.at("name").text();
    profile.device = root.at("device").text();
    profile.made_by = root.at("made_by").text();
    for (const auto& [key, node] : root.at("constants").entries()) {
        node.only({"value", "unit", "origin"});
        profile.constants[key] = {node.at("value").number(), node.at("unit").text(), node.at("origin").text()};
    }
    profile.gemm = tables(root.at("gemm"), gemm_table);
    profile.attention = tables(root.at("attention"), attention_table);
    profile.pointwise = tables(root.at("pointwise"), pointwise_table);
    profile.collectives = tables(root.at("collectives"), collective_table);
    if (root.has("held_out"))
        for (const auto& [key, node] : root.at("held_out").entries()) {
            node.only({"points", "mean", "median", "p90"});
            profile.held_out[key] = {node.at("points").count32(), node.at("mean").number(), node.at("median").number(),
                                     node.at("p90").number()};
        }
    if (root.has("batched_gemm")) profile.batched_gemm = tables(root.at("batched_gemm"), batched_gemm_table);
    if (root.has("convolution")) profile.convolution = tables(root.at("convolution"), convolution_table);
    if (root.has("copies")) profile.copies = tables(root.at("copies"), copy_table);
    if (root.has("overlap")) profile.overlap = tables(root.at("overlap"), overlap_point);
    if (root.has("noise"))
        for (const auto& [suite, node] : root.at("noise").entries()) profile.noise[suite] = noise(node);
    if (root.has("load")) {
        const Value load = root.at("load").only({"before", "after"});
        profile.load = {load.at("before").number(), load.at("after").number()};
    }
    return profile;
}

}  // namespace orrery::calibrate
