#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "calibrate/csv.hpp"
#include "calibrate/import_formats.hpp"
#include "calibrate/profile_json.hpp"

namespace orrery::calibrate {

namespace {

/// Several readings of one shape.
struct Readings {
    double log = 0;
    int count = 0;
    void add(double seconds) {
        log += std::log(seconds);
        ++count;
    }
    /// Their geometric mean.
    [[nodiscard]] float seconds() const { return static_cast<float>(std::exp(log / count)); }
};

Provenance deepbench(const path& file, Provenance made) {
    made.clocks = "ordinary";
    made.software += ", best of DeepBench's repeats";
    made.origin = "Baidu DeepBench, " + file.filename().string();
    made.licence = "Apache-2.0";
    return made;
}

[[noreturn]] void refuse(const path& file, const char* what) {
    throw Error(file.string(), "", std::string("holds no ") + what + " results",
                "DeepBench's results as CSV are expected");
}

using kernels::Convolution;
using kernels::GemmPass;

/// In the columns of a row: -, suite, W, H, C, N, K, S, R, padding, padding, stride, stride, milliseconds of each pass.
/// height_first: R before S, as its older tables have them.
Convolution convolution_of(const Csv& csv, std::size_t row, kernels::Dtype dtype, bool height_first) {
    const auto dimension = [&](std::size_t column) { return csv.whole(row, column); };
    return {.dtype = dtype,
            .batch = dimension(5),
            .channels = dimension(4),
            .rows = dimension(3),
            .columns = dimension(2),
            .outputs = dimension(6),
            .kernel_rows = dimension(height_first ? 7 : 8),
            .kernel_columns = dimension(height_first ? 8 : 7),
            .stride = dimension(11),
            .padding = dimension(9)};
}

/// Both directions alike, as this project's convolutions are.
bool is_convolution(const Csv& csv, std::size_t row) {
    for (std::size_t column = 2; column <= 13; ++column)
        if (!csv.is_number(row, column)) return false;
    return csv.number(row, 9) == csv.number(row, 10) && csv.number(row, 11) == csv.number(row, 12);
}

/// Whether `b` can be computed as `a`, padded with zeros: the same windows over the same image with no fewer images,
/// channels and results.
bool contains(const Convolution& a, const Convolution& b) {
    Convolution same = b;
    std::tie(same.batch, same.channels, same.outputs) = std::tie(a.batch, a.channels, a.outputs);
    return same == a && a.batch >= b.batch && a.channels >= b.channels && a.outputs >= b.outputs;
}

/// cuDNN's heuristics now and then took an algorithm that loses to padding: such a reading is lowered to the one of the
/// convolution that contains it.
void lower_to_larger(std::vector<ConvolutionPoint>& points) {
    for (ConvolutionPoint& p : points)
        for (const ConvolutionPoint& larger : points)
            if (contains(larger.shape, p.shape)) p.seconds = std::min(p.seconds, larger.seconds);
}

}  // namespace

/// Columns: -, suite, M, N, K, transpose A, transpose B, -, milliseconds, rate. DeepBench's matrices are
/// column-major: its M outputs and N samples are this project's n and m.
GemmTable deepbench_gemm(const path& file, kernels::Dtype dtype, const Provenance& made) {
    const Csv csv(file, false);
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Readings> shapes;
    for (std::size_t i = 0; i < csv.rows(); ++i) {
        if (csv.text(i, 0) == "Convolution") break;
        if (!csv.is_number(i, 2) || !csv.is_number(i, 8) || csv.number(i, 8) <= 0) continue;
        const auto dimension = [&](std::size_t c) { return csv.whole(i, c); };
        shapes[{dimension(3), dimension(2), dimension(4)}].add(csv.number(i, 8) * 1e-3);
    }
    if (shapes.empty()) refuse(file, "GEMM");
    GemmTable table{dtype, deepbench(file, made), {}};
    for (const auto& [shape, readings] : shapes) {
        const auto& [m, n, k] = shape;
        table.points.push_back({m, n, k, readings.seconds()});
    }
    return table;
}

std::vector<ConvolutionTable> deepbench_convolutions(const path& file, kernels::Dtype dtype, const Provenance& made) {
    const Csv csv(file, false);
    constexpr std::array passes{GemmPass::forward, GemmPass::data_gradient, GemmPass::weight_gradient};
    std::vector<ConvolutionTable> tables;
    std::size_t first = 0, end = 0;
    while (first < csv.rows() && csv.text(first, 0) != "Convolution") ++first;
    for (end = first; end < csv.rows() && !csv.text(end, 0).starts_with("Recurrent");) ++end;
    const bool height_first = first + 1 < csv.rows() && csv.text(first + 1, 7) == "R";
    for (std::size_t pass = 0; pass < passes.size(); ++pass) {
        std::map<std::array<std::uint32_t, convolution_columns.size()>, std::pair<Convolution, Readings>> shapes;
        for (std::size_t i = first; i < end; ++i) {
            const std::size_t milliseconds = 13 + pass;
            if (!is_convolution(csv, i) || !csv.is_number(i, milliseconds)) continue;
            Convolution shape = convolution_of(csv, i, dtype, height_first);
            shape.pass = passes[pass];
            if (kernels::size_of(dtype) == 2 && shape.channels % 8 != 0) continue;
            auto& [of, readings] = shapes[convolution_key(shape)];
            of = shape;
            readings.add(csv.number(i, milliseconds) * 1e-3);
        }
        if (shapes.empty()) refuse(file, "convolution");
        ConvolutionTable& table = tables.emplace_back(ConvolutionTable{dtype, passes[pass], deepbench(file, made), {}});
        for (const auto& [key, measured] : shapes) table.points.push_back({measured.first, measured.second.seconds()});
        lower_to_larger(table.points);
    }
    return tables;
}

}  // namespace orrery::calibrate
