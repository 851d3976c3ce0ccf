#include "calibrate/gemm_trend.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace orrery::calibrate {

namespace {

/// fp32 elements of a 64-byte vector or cache line: sizes below whole ones of these leave lanes idle. Register blocks
/// of AVX-512 are three such vectors wide.
constexpr double vector = 16, block = 48;

/// A GPU's memory moves lines of so many bytes (CUDA C++ Best Practices Guide, coalesced access to global memory): a
/// row that does not begin at one costs a part of two.
constexpr std::uint32_t line_bytes = 128;

double padded(double size, double unit) { return std::ceil(size / unit) * unit; }

/// What steps: on a CPU whether each size fills whole vectors; on a GPU whether rows of A, of B and of C begin at
/// lines.
std::array<double, 3> ragged(const kernels::Gemm& gemm, const Machine& machine) {
    std::array<std::uint32_t, 3> sizes{gemm.m, gemm.n, gemm.k};
    auto unit = static_cast<std::uint32_t>(vector);
    if (machine.multiprocessors > 0) {
        sizes = kernels::row_elements(gemm);
        unit = line_bytes / kernels::size_of(gemm.dtype);
    }
    std::array<double, 3> steps{};
    for (std::size_t d = 0; d < steps.size(); ++d) steps[d] = sizes[d] % unit == 0 ? 0.0 : 1.0;
    return steps;
}

/// A format that the table does not hold takes the table's times, scaled as the rooflines differ.
ScatteredShape described(const kernels::Gemm& gemm, const Machine& machine, kernels::Dtype table) {
    kernels::Gemm measured = gemm;
    measured.dtype = table;
    const double roofline = gemm_roofline(gemm, machine);
    ScatteredShape shape{{std::log(static_cast<double>(gemm.batch) * gemm.m), std::log(gemm.n), std::log(gemm.k)},
                         parts_of(gemm),
                         roofline,
                         table == gemm.dtype ? 1.0 : roofline / gemm_roofline(measured, machine)};
    std::ranges::copy(ragged(gemm, machine), std::back_inserter(shape.coordinates));
    return shape;
}

std::vector<ScatteredShape> shapes_of(const GemmTable& table, const Machine& machine) {
    std::vector<ScatteredShape> shapes;
    for (const GemmPoint& p : table.points)
        shapes.push_back(described({table.dtype, 1, p.m, p.n, p.k, table.pass}, machine, table.dtype));
    return shapes;
}

}  // namespace

CostTerms parts_of(const kernels::Gemm& g) {
    const double m = g.m, n = g.n, k = g.k;
    CostTerms parts{
        1,     m * n * k, padded(m, vector) * n * k, m * padded(n, vector) * k, m * padded(n, block) * k, m * k,
        n * k, m * n};
    for (std::size_t j = 1; j < cost_terms; ++j) parts[j] *= g.batch;
    return parts;
}

bool is_scattered(const GemmTable& table) {
    std::set<std::uint32_t> m, n, k;
    for (const GemmPoint& p : table.points) m.insert(p.m), n.insert(p.n), k.insert(p.k);
    return 2 * table.points.size() <= m.size() * n.size() * k.size() && has_half_widths(table.points);
}

GemmScatter::GemmScatter(const GemmTable& table, const Machine& machine)
    : dtype_(table.dtype), times_(shapes_of(table, machine), seconds_of(table.points), 3, table.scatter) {}

ScatteredTimes::Answer GemmScatter::at(const kernels::Gemm& gemm, const Machine& machine) const {
    return times_.at(described(gemm, machine, dtype_));
}

}  // namespace orrery::calibrate
