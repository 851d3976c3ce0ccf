#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "calibrate/profile_json.hpp"

namespace orrery::calibrate {

namespace {

using nlohmann::json;

/// A JSON value and where it stands, for messages.
struct Node {
    const json& value;
    std::string pointer;

    [[noreturn]] void fail(const std::string& message) const {
        throw Error("", pointer, message, "calibrate/README.md describes the profile format");
    }
    [[nodiscard]] bool has(const char* key) const { return value.is_object() && value.contains(key); }
    [[nodiscard]] Node at(const char* key) const {
        if (!value.is_object()) fail(fmt::format("is {}, not an object", value.type_name()));
        const auto found = value.find(key);
        if (found == value.end()) fail(fmt::format("\"{}\" is missing", key));
        return {*found, pointer + "/" + key};
    }
    [[nodiscard]] Node at(std::size_t i) const { return {value[i], fmt::format("{}/{}", pointer, i)}; }
    [[nodiscard]] std::size_t size() const {
        if (!value.is_array()) fail(fmt::format("is {}, not an array", value.type_name()));
        return value.size();
    }
    [[nodiscard]] std::string text() const {
        if (!value.is_string()) fail(fmt::format("is {}, not a string", value.type_name()));
        return value.get<std::string>();
    }
    [[nodiscard]] double number() const {
        if (!value.is_number()) fail(fmt::format("is {}, not a number", value.type_name()));
        return value.get<double>();
    }
    [[nodiscard]] std::uint64_t count() const {
        if (!value.is_number_unsigned()) fail(fmt::format("is {}, not a whole number of at least 0", value.dump()));
        return value.get<std::uint64_t>();
    }
    [[nodiscard]] std::uint32_t count32() const {
        const std::uint64_t wide = count();
        if (wide > UINT32_MAX) fail(fmt::format("{} is too large", wide));
        return static_cast<std::uint32_t>(wide);
    }
    [[nodiscard]] bool boolean() const {
        if (!value.is_boolean()) fail(fmt::format("is {}, neither true nor false", value.type_name()));
        return value.get<bool>();
    }
    [[nodiscard]] std::vector<std::uint32_t> counts() const {
        std::vector<std::uint32_t> out(size());
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = at(i).count32();
        return out;
    }
    [[nodiscard]] std::vector<double> numbers() const {
        std::vector<double> out(size());
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = at(i).number();
        return out;
    }
    /// Refuses a column that is shorter or longer than the table: a truncated file.
    void expect_size(std::size_t rows) const {
        if (size() != rows) fail(fmt::format("has {} values where the table has {} rows", size(), rows));
    }
};

float seconds_from_us(double us) { return static_cast<float>(us * 1e-6); }

Provenance provenance(const Node& node) {
    return {node.at("device").text(),   node.at("clocks").text(), node.at("date").text(),
            node.at("software").text(), node.at("origin").text(), node.at("licence").text()};
}

/// The optional column of relative half-widths: sets each point's.
template <class Point>
void half_widths(const Node& rows, std::vector<Point>& points) {
    if (!rows.has("half_width")) return;
    const auto values = rows.at("half_width").numbers();
    rows.at("half_width").expect_size(points.size());
    for (std::size_t i = 0; i < points.size(); ++i)
        points[i].half_width = static_cast<decltype(points[i].half_width)>(values[i]);
}

std::optional<kernels::Dtype> optional_dtype(const Node& node) {
    if (!node.has("dtype")) return std::nullopt;
    return kernels::dtype_from(node.at("dtype").text());
}

/// Bytes and times of transfers.
std::vector<CollectivePoint> transfers(const Node& rows) {
    const auto bytes = rows.at("bytes").numbers(), us = rows.at("us").numbers();
    rows.at("us").expect_size(bytes.size());
    std::vector<CollectivePoint> points;
    for (std::size_t i = 0; i < bytes.size(); ++i) points.push_back({bytes[i], us[i] * 1e-6});
    half_widths(rows, points);
    return points;
}

std::vector<GemmPoint> gemm_grid(const Node& node) {
    const auto m = node.at("m").counts(), n = node.at("n").counts(), k = node.at("k").counts();
    const Node us = node.at("us");
    us.expect_size(m.size() * n.size() * k.size());
    std::vector<GemmPoint> points;
    points.reserve(us.size());
    std::size_t i = 0;
    for (const auto a : m)
        for (const auto b : n)
            for (const auto c : k) {
                if (const json& cell = us.value[i]; !cell.is_null())
                    points.push_back(
                        {a, b, c, seconds_from_us(cell.is_number() ? cell.get<double>() : us.at(i).number())});
                ++i;
            }
    return points;
}

std::vector<GemmPoint> gemm_rows(const Node& node) {
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

ScatterSettings scatter_settings(const Node& node) {
    return {node.at("points").count(), node.at("trend").numbers(), node.at("length").number(),
            node.at("step").number(),  node.at("noise").number(),  node.at("rough").boolean()};
}

GemmTable gemm_table(const Node& node) {
    GemmTable table{kernels::dtype_from(node.at("dtype").text()), provenance(node.at("provenance")), {}};
    if (node.has("pass")) table.pass = kernels::gemm_pass_from(node.at("pass").text());
    if (node.has("scatter")) table.scatter = scatter_settings(node.at("scatter"));
    table.points = node.has("grid") ? gemm_grid(node.at("grid")) : gemm_rows(node.at("rows"));
    return table;
}

BatchedGemmTable batched_gemm_table(const Node& node) {
    BatchedGemmTable table{kernels::dtype_from(node.at("dtype").text()),
                           provenance(node.at("provenance")),
                           {},
                           kernels::gemm_pass_from(node.at("pass").text())};
    const Node rows = node.at("rows");
    const auto batch = rows.at("batch").counts(), m = rows.at("m").counts(), n = rows.at("n").counts();
    const auto k = rows.at("k").counts();
    const auto us = rows.at("us").numbers();
    for (const char* key : {"m", "n", "k", "us"}) rows.at(key).expect_size(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i)
        table.points.push_back({batch[i], m[i], n[i], k[i], seconds_from_us(us[i])});
    half_widths(rows, table.points);
    return table;
}

ConvolutionTable convolution_table(const Node& node) {
    ConvolutionTable table{kernels::dtype_from(node.at("dtype").text()),
                           kernels::gemm_pass_from(node.at("pass").text()),
                           provenance(node.at("provenance")),
                           {}};
    const Node rows = node.at("rows");
    const auto us = rows.at("us").numbers();
    table.points.resize(us.size());
    for (std::size_t i = 0; i < us.size(); ++i)
        table.points[i] = {{.dtype = table.dtype, .pass = table.pass}, seconds_from_us(us[i])};
    for (const ConvolutionColumn& each : convolution_columns) {
        const Node values = rows.at(std::string(each.name).c_str());
        values.expect_size(us.size());
        const auto counts = values.counts();
        for (std::size_t i = 0; i < us.size(); ++i) table.points[i].shape.*each.member = counts[i];
    }
    half_widths(rows, table.points);
    return table;
}

AttentionTable attention_table(const Node& node) {
    AttentionTable table{
        node.at("backward").boolean(), node.at("causal").boolean(), provenance(node.at("provenance")), {}};
    const Node rows = node.at("rows");
    const auto batch = rows.at("batch").counts(), seq = rows.at("seq").counts(), heads = rows.at("heads").counts();
    const auto kv = rows.at("kv_heads").counts(), dim = rows.at("head_dim").counts();
    const auto us = rows.at("us").numbers();
    for (const char* key : {"seq", "heads", "kv_heads", "head_dim", "us"}) rows.at(key).expect_size(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i)
        table.points.push_back({batch[i], seq[i], heads[i], kv[i], dim[i], seconds_from_us(us[i])});
    half_widths(rows, table.points);
    table.dtype = optional_dtype(node);
    return table;
}

PointwiseTable pointwise_table(const Node& node) {
    PointwiseTable table{kernels::pointwise_from(node.at("kind").text()), provenance(node.at("provenance")), {}};
    const Node rows = node.at("rows");
    const auto bytes = rows.at("bytes").numbers(), rate = rows.at("GB_per_s").numbers();
    const auto cols = rows.at("cols").counts();
    for (const char* key : {"cols", "GB_per_s"}) rows.at(key).expect_size(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) table.points.push_back({bytes[i], cols[i], rate[i] * 1e9});
    half_widths(rows, table.points);
    table.dtype = optional_dtype(node);
    return table;
}

CollectiveTable collective_table(const Node& node) {
    return {kernels::collective_from(node.at("kind").text()), node.at("ranks").count32(),
            provenance(node.at("provenance")), transfers(node.at("rows")),
            node.has("nodes") ? node.at("nodes").count32() : 1};
}

CopyTable copy_table(const Node& node) {
    return {kernels::copy_from(node.at("kind").text()), provenance(node.at("provenance")), transfers(node.at("rows"))};
}

OverlapPoint overlap_point(const Node& node) {
    return {node.at("kernel").text(), node.at("beside").text(), node.at("kernel_slowdown").number(),
            node.at("beside_slowdown").number()};
}

Noise noise(const Node& node) {
    return {node.at("points").count32(),    node.at("median").number(),     node.at("p90").number(),
            node.at("throttled").count32(), node.at("disturbed").count32(), node.at("unsettled").count32()};
}

template <class Table>
std::vector<Table> tables(const Node& list, Table (*read)(const Node&)) {
    std::vector<Table> out;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Node node = list.at(i);
        try {
            out.push_back(read(node));
        } catch (const Error& error) {
            if (!error.pointer().empty()) throw;
            throw Error("", node.pointer, error.message(), error.hint());
        }
    }
    return out;
}

}  // namespace

Profile profile_from(const json& document) {
    const Node root{document, ""};
    Profile profile;
    profile.version = static_cast<int>(root.at("version").count32());
    profile.name = root.at("name").text();
    profile.device = root.at("device").text();
    profile.made_by = root.at("made_by").text();
    const Node constants = root.at("constants");
    if (!constants.value.is_object()) constants.fail("is not an object");
    for (const auto& [key, value] : constants.value.items()) {
        const Node node{value, "/constants/" + key};
        profile.constants[key] = {node.at("value").number(), node.at("unit").text(), node.at("origin").text()};
    }
    profile.gemm = tables(root.at("gemm"), gemm_table);
    profile.attention = tables(root.at("attention"), attention_table);
    profile.pointwise = tables(root.at("pointwise"), pointwise_table);
    profile.collectives = tables(root.at("collectives"), collective_table);
    if (root.has("held_out"))
        for (const auto& [key, value] : root.at("held_out").value.items()) {
            const Node node{value, "/held_out/" + key};
            profile.held_out[key] = {node.at("points").count32(), node.at("mean").number(), node.at("median").number(),
                                     node.at("p90").number()};
        }
    if (root.has("batched_gemm")) profile.batched_gemm = tables(root.at("batched_gemm"), batched_gemm_table);
    if (root.has("convolution")) profile.convolution = tables(root.at("convolution"), convolution_table);
    if (root.has("copies")) profile.copies = tables(root.at("copies"), copy_table);
    if (root.has("overlap")) profile.overlap = tables(root.at("overlap"), overlap_point);
    if (root.has("noise"))
        for (const auto& [suite, value] : root.at("noise").value.items())
            profile.noise[suite] = noise({value, "/noise/" + suite});
    if (root.has("load")) {
        const Node load = root.at("load");
        profile.load = {load.at("before").number(), load.at("after").number()};
    }
    return profile;
}

}  // namespace orrery::calibrate
