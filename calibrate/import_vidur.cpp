#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.hpp"
#include "calibrate/csv.hpp"
#include "calibrate/import_formats.hpp"

namespace orrery::calibrate {

namespace {

using kernels::PointwiseKind;

Provenance provenance(const path& file, const std::string& device) {
    return {device, "ordinary", "2024", "vLLM kernels, CUDA events", "Vidur, " + file.filename().string(), "MIT"};
}

struct Column {
    PointwiseKind kind;
    const char* name;
};

/// Kernels whose Vidur implementation is what training runs too.
constexpr Column columns[] = {{PointwiseKind::add, "time_stats.add.median"},
                              {PointwiseKind::rope, "time_stats.attn_rope.median"},
                              {PointwiseKind::embedding, "time_stats.emb.median"}};

/// Bytes that the kernel moves (kernels::bytes): whole rows of the hidden state, except rope, which rotates this
/// rank's query and key heads.
double bytes_moved(PointwiseKind kind, double tokens, double hidden, double heads, double kv_heads, double ranks) {
    const double head_dim = hidden / heads;
    const double cols = kind == PointwiseKind::rope ? (heads + kv_heads) / ranks * head_dim : hidden;
    const kernels::Pointwise shape{kind, kernels::Dtype::bf16, static_cast<std::uint64_t>(tokens),
                                   static_cast<std::uint64_t>(cols)};
    return kernels::bytes(shape);
}

/// Times are rounded to 1 us: a reading below 4 us says little, and is only kept as the shortest time.
void read(const path& file, std::map<PointwiseKind, std::map<double, std::vector<double>>>& seconds) {
    const Csv csv(file, true);
    const auto tokens = csv.column("num_tokens"), hidden = csv.column("n_embd"), heads = csv.column("n_head"),
               kv = csv.column("n_kv_head"), ranks = csv.column("num_tensor_parallel_workers");
    for (const auto& [kind, name] : columns) {
        const auto ms = csv.column(name);
        for (std::size_t i = 0; i < csv.rows(); ++i) {
            if (!csv.is_number(i, ms)) continue;
            const double bytes = bytes_moved(kind, csv.number(i, tokens), csv.number(i, hidden), csv.number(i, heads),
                                             csv.number(i, kv), csv.number(i, ranks));
            const double time = csv.number(i, ms) * 1e-3;
            if (time > 0) seconds[kind][bytes].push_back(time);
        }
    }
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Lowers each time to the least time of a larger size: the smallest batches of the embedding were disturbed (14 us
/// for 16 tokens, 6 us for 64).
void lower_to_larger(PointwiseTable& table) {
    double least = INFINITY;
    for (auto p = table.points.rbegin(); p != table.points.rend(); ++p) {
        least = std::min(least, p->bytes / p->bytes_per_second);
        p->bytes_per_second = p->bytes / least;
    }
}

}  // namespace

/// Sizes are gathered into steps of half an octave, each answered by the medians of its size and time.
std::vector<PointwiseTable> vidur_pointwise(const std::vector<path>& files, const std::string& device) {
    std::map<PointwiseKind, std::map<double, std::vector<double>>> seconds;
    for (const auto& file : files) read(file, seconds);
    std::vector<PointwiseTable> tables;
    for (const auto& [kind, sizes] : seconds) {
        PointwiseTable table{kind, provenance(files.front(), device), {}};
        for (auto first = sizes.begin(); first != sizes.end();) {
            const auto last = sizes.upper_bound(first->first * 1.4);
            std::vector<double> bytes, cost;
            for (auto it = first; it != last; ++it)
                for (const double s : it->second) bytes.push_back(it->first), cost.push_back(s / it->first);
            const double size = median(bytes);
            table.points.push_back({size, 0, 1 / median(cost)});
            first = last;
        }
        lower_to_larger(table);
        tables.push_back(std::move(table));
    }
    return tables;
}

CollectiveTable vidur_send_recv(const path& file, const std::string& device) {
    const Csv csv(file, true);
    const auto ms = csv.column("time_stats.send_recv.median"), bytes = csv.column("size"),
               per_node = csv.column("devices_per_node");
    std::map<double, std::vector<double>> sizes;
    for (std::size_t i = 0; i < csv.rows(); ++i)
        if (csv.number(i, per_node) == 2) sizes[csv.number(i, bytes)].push_back(csv.number(i, ms) * 1e-3);
    if (sizes.empty()) throw Error(file.string(), "", "has no rows of two GPUs in one node", "");
    Provenance origin = provenance(file, device);
    origin.software = "NCCL through torch.distributed, 2 GPUs of one node";
    CollectiveTable table{kernels::CollectiveKind::send_recv, 2, std::move(origin), {}};
    for (auto first = sizes.begin(); first != sizes.end();) {
        const auto last = sizes.upper_bound(first->first * 1.4);
        std::vector<double> size, time;
        for (auto it = first; it != last; ++it)
            for (const double s : it->second) size.push_back(it->first), time.push_back(s);
        table.points.push_back({median(size), median(time)});
        first = last;
    }
    return table;
}

}  // namespace orrery::calibrate
