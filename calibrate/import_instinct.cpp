#include "calibrate/import_instinct.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "calibrate/clean_gemm.hpp"
#include "calibrate/csv.hpp"
#include "calibrate/import_formats.hpp"

namespace orrery::calibrate {

namespace {

using std::filesystem::path;

/// Of a file of the folder; each row names its source, which the folder's README explains.
Provenance read_from(const std::string& file, const std::string& device, const char* software, const char* licence) {
    return {.device = device,
            .clocks = "as they are",
            .date = "2023 to 2026",
            .software = software,
            .origin = fmt::format("calibrate/instinct/{}, by the sources of its README", file),
            .licence = licence};
}

float seconds_in(const Csv& csv, std::size_t row, std::size_t column) {
    return static_cast<float>(csv.number(row, column) * 1e-6);
}

/// A word of a row, of which `find` throws where it does not know it.
template <class Find>
auto word_in(const std::string& file, std::size_t row, const std::string& text, Find find) {
    try {
        return find(text);
    } catch (const Error& error) {
        throw Error(file, "", fmt::format("line {}: {}", row + 2, error.what()), error.hint());
    }
}

}  // namespace

GemmTable instinct_gemm(const path& folder, std::string_view board, kernels::Dtype dtype, const std::string& device) {
    const std::string file = fmt::format("products_{}_{}.csv", board, kernels::name(dtype));
    const Csv csv(folder / file, true);
    GemmTable table{dtype, read_from(file, device, "hipBLASLt, AITER", "MIT, figures quoted"), gemm_points(csv)};
    lower_to_larger(table);
    return table;
}

std::vector<AttentionTable> instinct_attention(const path& folder, std::string_view board, const std::string& device) {
    const std::string file = fmt::format("attention_{}.csv", board);
    const Csv csv(folder / file, true);
    const auto backward = csv.column("backward"), causal = csv.column("causal"), batch = csv.column("batch"),
               seq = csv.column("seq"), heads = csv.column("heads"), kv_heads = csv.column("kv_heads"),
               head_dim = csv.column("head_dim"), us = csv.column("us");
    std::map<std::pair<bool, bool>, AttentionTable> tables;
    for (std::size_t i = 0; i < csv.rows(); ++i) {
        const std::pair which{csv.number(i, backward) != 0, csv.number(i, causal) != 0};
        AttentionTable& table =
            tables
                .try_emplace(which, AttentionTable{which.first,
                                                   which.second,
                                                   read_from(file, device,
                                                             "AITER's assembly kernels, backward sums in fp32", "MIT"),
                                                   {}})
                .first->second;
        table.points.push_back({csv.whole(i, batch), csv.whole(i, seq), csv.whole(i, heads), csv.whole(i, kv_heads),
                                csv.whole(i, head_dim), seconds_in(csv, i, us)});
    }
    std::vector<AttentionTable> result;
    for (auto& [which, table] : tables) {
        std::ranges::sort(table.points, {}, &AttentionPoint::shape);
        result.push_back(std::move(table));
    }
    return result;
}

std::vector<PointwiseTable> instinct_pointwise(const path& folder, std::string_view board, const std::string& device) {
    const std::string file = fmt::format("memory_{}.csv", board);
    const Csv csv(folder / file, true);
    const auto kind = csv.column("kind"), bytes = csv.column("bytes"), us = csv.column("us");
    std::vector<PointwiseTable> tables;
    for (std::size_t i = 0; i < csv.rows(); ++i) {
        const auto of = word_in(file, i, csv.text(i, kind), kernels::pointwise_from);
        if (tables.empty() || tables.back().kind != of)
            tables.push_back({of, read_from(file, device, "PyTorch, torch.compile, AITER", "MIT"), {}});
        tables.back().points.push_back({csv.number(i, bytes), 0, csv.number(i, bytes) / (csv.number(i, us) * 1e-6)});
    }
    return tables;
}

std::vector<CollectiveTable> instinct_collectives(const path& folder, std::string_view board,
                                                  const std::string& device) {
    const std::string file = fmt::format("collectives_{}.csv", board);
    const Csv csv(folder / file, true);
    const auto kind = csv.column("kind"), ranks = csv.column("ranks"), bytes = csv.column("bytes"),
               us = csv.column("us");
    std::vector<CollectiveTable> tables;
    for (std::size_t i = 0; i < csv.rows(); ++i) {
        const auto of = word_in(file, i, csv.text(i, kind), kernels::collective_from);
        if (tables.empty() || tables.back().kind != of || tables.back().ranks != csv.whole(i, ranks))
            tables.push_back({of, csv.whole(i, ranks), read_from(file, device, "RCCL", "figures quoted"), {}});
        tables.back().points.push_back({csv.number(i, bytes), csv.number(i, us) * 1e-6});
    }
    return tables;
}

}  // namespace orrery::calibrate
