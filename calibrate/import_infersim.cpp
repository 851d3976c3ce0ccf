#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <system_error>
#include <tuple>

#include "base/error.hpp"
#include "calibrate/csv.hpp"
#include "calibrate/import_formats.hpp"

namespace orrery::calibrate {

namespace {

Provenance infersim(const path& file, const std::string& device, const char* software) {
    return {device,      "ordinary, short repeats", "2025", software, "Alibaba InferSim, bench_data/" + file.string(),
            "Apache-2.0"};
}

/// "32-8-128": heads, heads of keys and values, width of a head.
std::array<std::uint32_t, 3> heads_in(const path& file) {
    std::array<std::uint32_t, 3> numbers{};
    std::istringstream name(file.stem().string());
    char dash = '-';
    for (std::uint32_t& number : numbers) {
        if (&number != numbers.data()) name >> dash;
        name >> number;
        if (!name || dash != '-') throw Error(file.string(), "", "is not named by its heads", "as in 32-8-128.csv");
    }
    return numbers;
}

std::vector<path> files_in(const path& folder) {
    std::error_code failed;
    std::vector<path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) files.push_back(entry.path());
    if (failed) throw Error(folder.string(), "", "cannot be read", "InferSim's bench_data is expected as infersim/");
    return files;
}

}  // namespace

GemmTable infersim_gemm(const path& folder, const std::string& gpu, const std::string& device) {
    const path file = path("gemm") / gpu / "data.csv";
    const Csv csv(folder / file, true);
    const auto m = csv.column("m"), n = csv.column("n"), k = csv.column("k"), us = csv.column("latency_us");
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, float> readings;  // some rows come twice
    for (std::size_t i = 0; i < csv.rows(); ++i) {
        readings[{csv.whole(i, m), csv.whole(i, n), csv.whole(i, k)}] = static_cast<float>(csv.number(i, us) * 1e-6);
    }
    GemmTable table{kernels::Dtype::fp8, infersim(file, device, "DeepGEMM, random data"), {}};
    for (const auto& [shape, seconds] : readings)
        table.points.push_back({std::get<0>(shape), std::get<1>(shape), std::get<2>(shape), seconds});
    return table;
}

GemmTable twice_as_wide(GemmTable table) {
    table.dtype = kernels::Dtype::bf16;
    for (GemmPoint& point : table.points) point.seconds *= 2;
    table.provenance.origin += ", all times twice: half the rate, operands of twice the bytes (estimate)";
    return table;
}

AttentionTable infersim_attention(const path& folder, const std::string& gpu, const std::string& device) {
    const path from = path("mha") / "prefill" / gpu;
    AttentionTable table{false, true, infersim(from, device, "FlashAttention-3"), {}};
    for (const path& file : files_in(folder / from)) {
        const auto [heads, kv_heads, head_dim] = heads_in(file);
        if (head_dim > 192) continue;  // as of AIConfigurator's tables
        const Csv csv(file, true);
        const auto seq = csv.column("seq_len"), us = csv.column("latency_us");
        for (std::size_t i = 0; i < csv.rows(); ++i)
            table.points.push_back(
                {1, csv.whole(i, seq), heads, kv_heads, head_dim, static_cast<float>(csv.number(i, us) * 1e-6)});
    }
    std::ranges::sort(table.points, {}, &AttentionPoint::shape);
    return table;
}

}  // namespace orrery::calibrate
