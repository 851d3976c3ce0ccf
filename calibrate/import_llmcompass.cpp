#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "calibrate/csv.hpp"
#include "calibrate/import_formats.hpp"

namespace orrery::calibrate {

namespace {

using kernels::PointwiseKind;

struct Sample {
    double bytes, seconds;
};

/// LLMCompass times calls from the host: every sample carries the same overhead (launch and synchronisation, about
/// 40 us), which hides kernels shorter than itself. The line through a sweep's two largest sizes, one twice the other,
/// gives it: overhead = 2 t(half) - t(full).
double overhead_of(const std::vector<Sample>& sweep) {
    return std::max(0.0, 2 * sweep[sweep.size() - 2].seconds - sweep.back().seconds);
}

/// Sizes that take less than twice the overhead are left out.
PointwiseTable without_overhead(PointwiseKind kind, const std::vector<Sample>& sweep, double overhead,
                                const std::string& file) {
    PointwiseTable table{kind,
                         {"NVIDIA A100-SXM4-80GB", "ordinary", "2023",
                          fmt::format("PyTorch 2.0, host timer less its overhead of {:.0f} us", overhead * 1e6),
                          "LLMCompass, " + file, "BSD-3-Clause"},
                         {}};
    for (const auto& s : sweep)
        if (s.seconds > 2 * overhead) table.points.push_back({s.bytes, 0, s.bytes / (s.seconds - overhead)});
    return table;
}

/// Rows of `cells` columns; the last is the rate in 10^9 elements per second, those before it the shape. The rows of
/// 4,096 columns and growing length are the sweep of row-wise kernels.
std::vector<Sample> samples(const Csv& csv, bool row_wise) {
    std::vector<Sample> sweep;
    for (std::size_t i = 0; i < csv.rows(); ++i) {
        if (csv.cells(i) < (row_wise ? 3U : 2U)) continue;
        if (row_wise && csv.number(i, 1) != 4096) continue;
        const double elements = csv.number(i, 0) * (row_wise ? csv.number(i, 1) : 1.0);
        const double rate = csv.number(i, row_wise ? 2 : 1) * 1e9;
        sweep.push_back({4 * elements, elements / rate});  // 16-bit operands, one read and one write
    }
    std::sort(sweep.begin(), sweep.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    const auto repeated = [](const auto& a, const auto& b) { return a.bytes == b.bytes; };
    sweep.erase(std::unique(sweep.begin(), sweep.end(), repeated), sweep.end());
    return sweep;
}

}  // namespace

std::vector<PointwiseTable> llmcompass_pointwise(const path& folder) {
    struct File {
        PointwiseKind kind;
        const char* name;
        bool row_wise;
    };
    const std::array files{File{PointwiseKind::layernorm, "layernorm_A100.csv", true},
                           File{PointwiseKind::softmax, "softmax_A100.csv", true},
                           File{PointwiseKind::gelu, "gelu_A100.csv", false}};
    std::vector<std::vector<Sample>> sweeps;
    std::vector<double> overheads;
    for (const auto& file : files) {
        sweeps.push_back(samples(Csv(folder / file.name, false), file.row_wise));
        if (sweeps.back().size() < 3) throw Error((folder / file.name).string(), "", "has fewer than three sizes", "");
        overheads.push_back(overhead_of(sweeps.back()));
    }
    std::sort(overheads.begin(), overheads.end());  // one harness, one overhead: the median of the three readings
    std::vector<PointwiseTable> tables;
    for (std::size_t i = 0; i < files.size(); ++i)
        tables.push_back(without_overhead(files[i].kind, sweeps[i], overheads[1], files[i].name));
    return tables;
}

}  // namespace orrery::calibrate
