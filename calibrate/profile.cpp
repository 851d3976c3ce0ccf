#include "calibrate/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/file_replacement.hpp"
#include "base/read_file.hpp"
#include "calibrate/profile_check.hpp"
#include "calibrate/profile_json.hpp"
#include "documents/document.hpp"

namespace orrery::calibrate {

namespace {

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

std::string number(double value) { return fmt::format("{:.4g}", value + 0.0); }  // -0 is 0

/// "[1, 2, 3]" in lines that a reader can scroll.
template <class Range, class Text>
std::string list(const Range& range, Text text) {
    std::string out = "[";
    std::size_t line = 0;
    bool first = true;
    for (const auto& item : range) {
        const std::string piece = text(item);
        if (!first) out += ',';
        if (out.size() - line + piece.size() > 118) {
            out += '\n';
            line = out.size();
        }
        out += piece;
        first = false;
    }
    return out + "]";
}

template <class Point, class Field>
std::string column(const std::vector<Point>& points, Field field) {
    return list(points, [&](const Point& p) { return fmt::format("{}", field(p)); });
}

std::string to_text(const Provenance& p) {
    return fmt::format(
        "{{\"device\": {}, \"clocks\": {},\n      \"date\": {}, \"software\": {},\n      \"origin\": {},\n      "
        "\"licence\": {}}}",
        quoted(p.device), quoted(p.clocks), quoted(p.date), quoted(p.software), quoted(p.origin), quoted(p.licence));
}

std::string us(double seconds) { return number(seconds * 1e6); }

/// The column of relative half-widths; "" where none was measured.
template <class Point>
std::string half_widths(const std::vector<Point>& points) {
    if (!has_half_widths(points)) return "";
    return ",\n    \"half_width\": " + list(points, [](const Point& p) { return number(p.half_width); });
}

std::string optional_dtype(const std::optional<kernels::Dtype>& dtype) {
    return dtype ? fmt::format("\"dtype\": \"{}\", ", kernels::name(*dtype)) : "";
}

bool is_grid(const GemmTable& table, std::size_t cells) {
    const bool plain = !has_half_widths(table.points);
    return plain && table.points.size() * 10 > cells * 9;
}

std::string exact(double value) { return fmt::format("{}", value); }

std::string scatter_text(const std::optional<ScatterSettings>& settings) {
    if (!settings) return "";
    const ScatterSettings& s = *settings;
    return fmt::format(
        "\n    \"scatter\": {{\"points\": {}, \"length\": {}, \"step\": {}, \"noise\": {}, \"rough\": {},\n    "
        "\"trend\": {}}},",
        s.points, exact(s.length), exact(s.step), exact(s.noise), s.rough, list(s.trend, exact));
}

std::string to_text(const GemmTable& table) {
    std::set<std::uint32_t> m, n, k;
    for (const auto& p : table.points) m.insert(p.m), n.insert(p.n), k.insert(p.k);
    const bool forward = table.pass == kernels::GemmPass::forward;
    std::string out = fmt::format("{{\"dtype\": \"{}\", {}\"provenance\": {},{}\n    ", kernels::name(table.dtype),
                                  forward ? "" : fmt::format("\"pass\": \"{}\", ", kernels::name(table.pass)),
                                  to_text(table.provenance), scatter_text(table.scatter));
    const auto plain = [](std::uint32_t value) { return fmt::format("{}", value); };
    if (!is_grid(table, m.size() * n.size() * k.size())) {
        out += fmt::format("\"rows\": {{\"m\": {},\n    \"n\": {},\n    \"k\": {},\n",
                           column(table.points, [](const auto& p) { return p.m; }),
                           column(table.points, [](const auto& p) { return p.n; }),
                           column(table.points, [](const auto& p) { return p.k; }));
        return out + "    \"us\": " + list(table.points, [](const auto& p) { return us(p.seconds); }) +
               half_widths(table.points) + "}}";
    }
    std::vector<std::string> cells;
    std::size_t next = 0;
    for (const auto a : m)
        for (const auto b : n)
            for (const auto c : k) {
                const auto* p = next < table.points.size() ? &table.points[next] : nullptr;
                const bool here = p != nullptr && p->m == a && p->n == b && p->k == c;
                cells.push_back(here ? us(p->seconds) : "null");
                next += here ? 1 : 0;
            }
    out += fmt::format("\"grid\": {{\"m\": {},\n    \"n\": {},\n    \"k\": {},\n", list(m, plain), list(n, plain),
                       list(k, plain));
    return out + "    \"us\": " + list(cells, [](const std::string& cell) { return cell; }) + "}}";
}

std::string to_text(const BatchedGemmTable& table) {
    return fmt::format(
        "{{\"dtype\": \"{}\", \"pass\": \"{}\", \"provenance\": {},\n    \"rows\": {{\"batch\": {},\n    \"m\": {},\n  "
        "  "
        "\"n\": {},\n    \"k\": {},\n    \"us\": {}{}}}}}",
        kernels::name(table.dtype), kernels::name(table.pass), to_text(table.provenance),
        column(table.points, [](const auto& p) { return p.batch; }),
        column(table.points, [](const auto& p) { return p.m; }),
        column(table.points, [](const auto& p) { return p.n; }),
        column(table.points, [](const auto& p) { return p.k; }),
        list(table.points, [](const auto& p) { return us(p.seconds); }), half_widths(table.points));
}

std::string to_text(const ConvolutionTable& table) {
    std::string out = fmt::format("{{\"dtype\": \"{}\", \"pass\": \"{}\", \"provenance\": {},\n    \"rows\": {{",
                                  kernels::name(table.dtype), kernels::name(table.pass), to_text(table.provenance));
    for (const ConvolutionColumn& each : convolution_columns)
        out += fmt::format("\"{}\": {},\n    ", each.name,
                           column(table.points, [&](const auto& p) { return p.shape.*each.member; }));
    return out + "\"us\": " + list(table.points, [](const auto& p) { return us(p.seconds); }) +
           half_widths(table.points) + "}}";
}

std::string to_text(const AttentionTable& table) {
    const auto& points = table.points;
    return fmt::format(
        "{{\"backward\": {}, \"causal\": {}, {}{}\"provenance\": {},{}\n    \"rows\": {{\"batch\": {},\n    \"seq\": "
        "{},\n "
        "  "
        " \"heads\": {},\n    \"kv_heads\": {},\n    \"head_dim\": {},\n    \"us\": {}{}}}}}",
        table.backward, table.causal, table.dropout ? "\"dropout\": true, " : "", optional_dtype(table.dtype),
        to_text(table.provenance), scatter_text(table.scatter), column(points, [](const auto& p) { return p.batch; }),
        column(points, [](const auto& p) { return p.seq; }), column(points, [](const auto& p) { return p.heads; }),
        column(points, [](const auto& p) { return p.kv_heads; }),
        column(points, [](const auto& p) { return p.head_dim; }),
        list(points, [](const auto& p) { return us(p.seconds); }), half_widths(points));
}

std::string bytes_column(const auto& points) {
    return list(points, [](const auto& p) { return fmt::format("{:.0f}", p.bytes); });
}

std::string to_text(const PointwiseTable& table) {
    return fmt::format(
        "{{\"kind\": \"{}\", {}\"provenance\": {},\n    \"rows\": {{\"bytes\": {},\n    \"cols\": {},\n    "
        "\"GB_per_s\": {}{}}}}}",
        kernels::name(table.kind), optional_dtype(table.dtype), to_text(table.provenance), bytes_column(table.points),
        column(table.points, [](const auto& p) { return p.cols; }),
        list(table.points, [](const auto& p) { return number(p.bytes_per_second / 1e9); }), half_widths(table.points));
}

std::string to_text(const CollectiveTable& table) {
    return fmt::format(
        "{{\"kind\": \"{}\", \"ranks\": {}, {}{}\"provenance\": {},\n    \"rows\": {{\"bytes\": {},\n    \"us\": "
        "{}{}}}}}",
        kernels::name(table.kind), table.ranks, table.nodes > 1 ? fmt::format("\"nodes\": {}, ", table.nodes) : "",
        table.nvlink_bytes_per_second > 0
            ? fmt::format("\"nvlink_GB_per_s\": {}, ", number(table.nvlink_bytes_per_second / 1e9))
            : "",
        to_text(table.provenance), bytes_column(table.points),
        list(table.points, [](const auto& p) { return us(p.seconds); }), half_widths(table.points));
}

std::string to_text(const CopyTable& table) {
    return fmt::format("{{\"kind\": \"{}\", \"provenance\": {},\n    \"rows\": {{\"bytes\": {},\n    \"us\": {}{}}}}}",
                       kernels::name(table.kind), to_text(table.provenance), bytes_column(table.points),
                       list(table.points, [](const auto& p) { return us(p.seconds); }), half_widths(table.points));
}

std::string to_text(const OverlapPoint& p) {
    return fmt::format("{{\"kernel\": {}, \"beside\": {}, \"kernel_slowdown\": {}, \"beside_slowdown\": {}}}",
                       quoted(p.kernel), quoted(p.beside), number(p.kernel_slowdown), number(p.beside_slowdown));
}

template <class Table>
std::string section(const char* key, const std::vector<Table>& tables) {
    std::string out = fmt::format("  \"{}\": [", key);
    for (std::size_t i = 0; i < tables.size(); ++i) out += (i == 0 ? "\n   " : ",\n   ") + to_text(tables[i]);
    return out + "]";
}

std::string constants_text(const Profile& profile) {
    std::string out = "  \"constants\": {";
    const char* separator = "\n";
    for (const auto& [key, constant] : profile.constants) {
        out += fmt::format("{}    {}: {{\"value\": {}, \"unit\": {}, \"origin\": {}}}", separator, quoted(key),
                           constant.value, quoted(constant.unit), quoted(constant.origin));
        separator = ",\n";
    }
    return out + "}";
}

std::string held_out_text(const Profile& profile) {
    std::string out = "  \"held_out\": {";
    const char* separator = "\n";
    for (const auto& [key, error] : profile.held_out) {
        out += fmt::format("{}    {}: {{\"points\": {}, \"mean\": {}, \"median\": {}, \"p90\": {}}}", separator,
                           quoted(key), error.points, number(error.mean), number(error.median), number(error.p90));
        separator = ",\n";
    }
    return out + "}";
}

/// Sections of measured devices, each after a comma; "" when there are none.
std::string measured_text(const Profile& profile) {
    std::string out;
    if (!profile.batched_gemm.empty()) out += ",\n" + section("batched_gemm", profile.batched_gemm);
    if (!profile.convolution.empty()) out += ",\n" + section("convolution", profile.convolution);
    if (!profile.copies.empty()) out += ",\n" + section("copies", profile.copies);
    if (!profile.overlap.empty()) out += ",\n" + section("overlap", profile.overlap);
    if (!profile.noise.empty()) {
        out += ",\n  \"noise\": {";
        const char* separator = "\n";
        for (const auto& [suite, n] : profile.noise) {
            out += fmt::format(
                "{}    {}: {{\"points\": {}, \"median\": {}, \"p90\": {}, \"throttled\": {}, \"disturbed\": {}, "
                "\"unsettled\": {}}}",
                separator, quoted(suite), n.points, number(n.median), number(n.p90), n.throttled, n.disturbed,
                n.unsettled);
            separator = ",\n";
        }
        out += "}";
    }
    if (profile.load)
        out += fmt::format(",\n  \"load\": {{\"before\": {}, \"after\": {}}}", number(profile.load->before),
                           number(profile.load->after));
    return out;
}

}  // namespace

std::array<std::uint32_t, convolution_columns.size()> convolution_key(const kernels::Convolution& shape) {
    std::array<std::uint32_t, convolution_columns.size()> key{};
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = shape.*convolution_columns[i].member;
    return key;
}

std::string to_json_text(const Profile& profile) {
    return fmt::format(
        "{{\n  \"version\": {},\n  \"name\": {},\n  \"device\": {},\n  \"made_by\": "
        "{},\n{},\n{},\n{},\n{},\n{},\n{}{}\n}}\n",
        profile.version, quoted(profile.name), quoted(profile.device), quoted(profile.made_by), constants_text(profile),
        held_out_text(profile), section("gemm", profile.gemm), section("attention", profile.attention),
        section("pointwise", profile.pointwise), section("collectives", profile.collectives), measured_text(profile));
}

Profile as_read(const Profile& profile) { return profile_from(nlohmann::json::parse(to_json_text(profile))); }

Profile load_profile(const std::filesystem::path& file) {
    const std::string text = read_file(file, "scenarios/profiles/ holds the shipped profiles");
    try {
        Profile profile = profile_from(documents::parse_document(
            text, file.string(), {.example = "calibrate/README.md describes the profile format"}));
        check_profile(profile);
        return profile;
    } catch (const Error& error) {
        throw error.in_file(file.string());
    }
}

void save_profile(const Profile& profile, const std::filesystem::path& file) {
    check_profile(profile);
    replace_file(file, to_json_text(profile));
}

}  // namespace orrery::calibrate
