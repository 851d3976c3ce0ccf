#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "calibrate/csv.hpp"
#include "calibrate/import_formats.hpp"

namespace orrery::calibrate {

namespace {

Provenance provenance(const path& file, const std::string& device, const std::string& software) {
    return {device,   "locked at the highest clock, short repeats",         "2025",
            software, "NVIDIA AIConfigurator, " + file.filename().string(), "Apache-2.0"};
}

/// "a100_sxm_sglang-0.5.10_bfloat16.csv" -> "sglang-0.5.10"
std::string framework(const path& file) {
    const std::string name = file.stem().string();
    for (const char* known : {"sglang", "trtllm"})
        if (const auto start = name.find(known); start != std::string::npos)
            return name.substr(start, name.find('_', start) - start);
    return name;
}

}  // namespace

std::vector<GemmPoint> gemm_points(const Csv& csv) {
    const auto m = csv.column("m"), n = csv.column("n"), k = csv.column("k"), us = csv.column("us");
    std::vector<GemmPoint> points;
    for (std::size_t i = 0; i < csv.rows(); ++i)
        points.push_back(
            {csv.whole(i, m), csv.whole(i, n), csv.whole(i, k), static_cast<float>(csv.number(i, us) * 1e-6)});
    std::ranges::sort(points, {}, &GemmPoint::shape);
    return points;
}

GemmTable aiconfigurator_gemm(const path& file, kernels::Dtype dtype, const std::string& device) {
    return {dtype, provenance(file, device, framework(file)), gemm_points(Csv(file, true))};
}

AttentionTable aiconfigurator_attention(const path& file, const std::string& device) {
    const Csv csv(file, true);
    const auto batch = csv.column("batch"), seq = csv.column("seq"), heads = csv.column("heads"),
               kv = csv.column("kv_heads"), dim = csv.column("head_dim"), us = csv.column("us");
    AttentionTable table{false, true, provenance(file, device, framework(file)), {}};
    for (std::size_t i = 0; i < csv.rows(); ++i) {
        const AttentionPoint p{csv.whole(i, batch), csv.whole(i, seq), csv.whole(i, heads),
                               csv.whole(i, kv),    csv.whole(i, dim), static_cast<float>(csv.number(i, us) * 1e-6)};
        // Head widths of language models in training; 192, 256 and 512 belong to few inference kernels.
        if (p.head_dim == 64 || p.head_dim == 128 || p.head_dim == 192) table.points.push_back(p);
    }
    std::ranges::sort(table.points, {}, &AttentionPoint::shape);
    // What takes longer than a longer sequence of the same shape was disturbed.
    const auto alike = [](const AttentionPoint& x, const AttentionPoint& y) {
        return std::tie(x.head_dim, x.heads, x.kv_heads, x.batch) == std::tie(y.head_dim, y.heads, y.kv_heads, y.batch);
    };
    for (std::size_t i = table.points.size(); i-- > 1;)
        if (alike(table.points[i - 1], table.points[i]))
            table.points[i - 1].seconds = std::min(table.points[i - 1].seconds, table.points[i].seconds);
    return table;
}

namespace {

/// "2.27.3" -> 27, the minor version of NCCL 2; -1 for other texts.
int nccl_minor(const std::string& version) {
    int minor = -1;
    const bool nccl_2 = version.starts_with("2.");
    if (nccl_2) std::from_chars(version.data() + 2, version.data() + version.size(), minor);
    return minor;
}

double lower_median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[(values.size() - 1) / 2];
}

}  // namespace

std::vector<CollectiveTable> aiconfigurator_collectives(const path& file, const std::string& system,
                                                        const std::string& device) {
    constexpr int oldest_minor = 26;
    const Csv csv(file, true);
    const auto sys = csv.column("sys"), ver = csv.column("file_ver"), op = csv.column("op_name"),
               dtype = csv.column("nccl_dtype"), gpus = csv.column("num_gpus"), bytes = csv.column("bytes"),
               us = csv.column("us");
    std::map<std::pair<kernels::CollectiveKind, std::uint32_t>, std::map<double, std::vector<double>>> sweeps;
    for (std::size_t i = 0; i < csv.rows(); ++i) {
        if (csv.text(i, sys) != system || csv.text(i, dtype) != "half") continue;
        if (nccl_minor(csv.text(i, ver)) < oldest_minor) continue;
        const auto key = std::pair(kernels::collective_from(csv.text(i, op)), csv.whole(i, gpus));
        sweeps[key][csv.number(i, bytes)].push_back(csv.number(i, us));
    }
    if (sweeps.empty())
        throw Error(file.string(), "", "has no 16-bit rows of " + system, "another version of the file?");
    std::vector<CollectiveTable> tables;
    for (const auto& [key, sweep] : sweeps) {
        CollectiveTable table{key.first, key.second, provenance(file, device, "NCCL 2.26 to 2.29, median"), {}};
        for (const auto& [size, readings] : sweep) table.points.push_back({size, lower_median(readings) * 1e-6});
        tables.push_back(std::move(table));
    }
    return tables;
}

}  // namespace orrery::calibrate
