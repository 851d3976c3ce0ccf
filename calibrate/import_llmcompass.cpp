#include <algorithm>

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
/// 40 us), which hides kernels shorter than itself. The line through the two largest sizes, one twice the other,
/// gives it: overhead = 2 t(half) - t(full). Sizes that take less than twice the overhead are left out.
PointwiseTable without_overhead(PointwiseKind kind, const std::vector<Sample>& sweep, const std::string& file) {
    const Sample &full = sweep[sweep.size() - 1], &half = sweep[sweep.size() - 2];
    const double overhead = std::max(0.0, 2 * half.seconds - full.seconds);
    PointwiseTable table{kind,
                         {"NVIDIA A100-SXM4-80GB", "ordinary", "2023", "PyTorch 2.0, host timer less its overhead",
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
    std::vector<PointwiseTable> tables;
    for (const auto& [kind, name, row_wise] :
         {File{PointwiseKind::layernorm, "layernorm_A100.csv", true},
          File{PointwiseKind::softmax, "softmax_A100.csv", true}, File{PointwiseKind::gelu, "gelu_A100.csv", false}}) {
        const auto sweep = samples(Csv(folder / name, false), row_wise);
        if (sweep.size() < 3) throw Error((folder / name).string(), "", "has fewer than three sizes", "");
        tables.push_back(without_overhead(kind, sweep, name));
    }
    return tables;
}

}  // namespace orrery::calibrate
