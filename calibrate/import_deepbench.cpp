#include <cmath>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "calibrate/csv.hpp"
#include "calibrate/import_formats.hpp"

namespace orrery::calibrate {

/// Columns: -, suite, M, N, K, transpose A, transpose B, -, milliseconds, rate. DeepBench's matrices are
/// column-major: its M outputs and N samples are this project's n and m.
GemmTable deepbench_gemm(const path& file, kernels::Dtype dtype) {
    const Csv csv(file, false);
    struct Sum {
        double log = 0;
        int rows = 0;
    };
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Sum> shapes;
    for (std::size_t i = 0; i < csv.rows(); ++i) {
        if (csv.text(i, 0) == "Convolution") break;
        if (!csv.is_number(i, 2) || !csv.is_number(i, 8) || csv.number(i, 8) <= 0) continue;
        const auto dimension = [&](std::size_t c) { return static_cast<std::uint32_t>(csv.number(i, c)); };
        Sum& sum = shapes[{dimension(3), dimension(2), dimension(4)}];
        sum.log += std::log(csv.number(i, 8) * 1e-3);
        ++sum.rows;
    }
    if (shapes.empty())
        throw Error(file.string(), "", "holds no GEMM results", "DeepBench's results as CSV are expected");
    GemmTable table{dtype,
                    {"NVIDIA V100-SXM2", "ordinary", "2018", "cuBLAS 9, best of DeepBench's repeats",
                     "Baidu DeepBench, " + file.filename().string(), "Apache-2.0"},
                    {}};
    for (const auto& [shape, sum] : shapes) {
        const auto& [m, n, k] = shape;
        table.points.push_back({m, n, k, static_cast<float>(std::exp(sum.log / sum.rows))});
    }
    return table;
}

}  // namespace orrery::calibrate
