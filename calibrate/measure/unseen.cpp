#include "calibrate/measure/unseen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.hpp"
#include "base/overloaded.hpp"

namespace orrery::calibrate {

namespace {

/// A double in [0, 1) that is the same on every platform.
double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11U) * 0x1p-53; }

double between(std::mt19937_64& random, double least, double most) {
    return least * std::pow(most / least, uniform(random));
}

Subject random_pointwise(const Bench& bench, std::mt19937_64& random) {
    const auto kind = static_cast<kernels::PointwiseKind>(random() % kernels::pointwise_kinds);
    const double most = bench.is_cpu() ? 8e6 : 2e8;
    const auto elements = static_cast<std::uint64_t>(between(random, 2e4, most));
    const auto cols = static_cast<std::uint64_t>(std::round(between(random, 256, 2048) / 16)) * 16;
    const std::uint64_t rows = std::max<std::uint64_t>(1, elements / cols / 2) * 2;
    return kernels::Kernel(kernels::Pointwise{kind, bench.dtypes.front(), rows, cols});
}

Subject random_collective(const Bench& bench, std::mt19937_64& random) {
    const auto kind = static_cast<kernels::CollectiveKind>(random() % kernels::collective_kinds);
    const std::uint64_t unit = std::uint64_t{4} * bench.ranks;
    const auto bytes = static_cast<std::uint64_t>(between(random, 2048, bench.is_cpu() ? 12e6 : 8e8));
    return CollectiveShape{kind, bench.ranks, bytes / unit * unit};
}

Estimate predicted(const Predictor& predictor, const Subject& subject, std::uint32_t nodes) {
    return std::visit(
        Overloaded{[&](const kernels::Kernel& k) {
                       Estimate out = predictor.at_table_clock(k);               // short repeats, like the table's rows
                       out.seconds += predictor.constant("kernel_gap_seconds");  // measured one behind the other
                       return out;
                   },
                   [&](const CollectiveShape& c) {
                       const auto known = predictor.measured(c.kind, c.ranks, nodes, static_cast<double>(c.bytes));
                       if (known) return *known;
                       throw Error(fmt::format("the profile has no {} among {} ranks on {} nodes",
                                               kernels::name(c.kind), c.ranks, nodes),
                                   "calibrate with as many ranks on as many hosts");
                   },
                   [](const auto&) -> Estimate { throw Error("only kernels and collectives are predicted"); }},
        subject);
}

}  // namespace

std::vector<Subject> random_subjects(const Suite& suite, const Bench& bench, std::size_t count, std::uint64_t seed) {
    std::vector<Subject> out;
    if (suite.name == "gemm") {
        for (const auto& gemm : random_gemms(bench, bench.dtypes.front(), count, seed))
            out.emplace_back(kernels::Kernel(gemm));
        return out;
    }
    if (suite.name != "pointwise" && suite.name != "collective")
        throw Error("suite \"" + std::string(suite.name) + "\" has no random shapes", "gemm, pointwise or collective");
    std::mt19937_64 random(seed);
    for (std::size_t tries = 0; out.size() < count && tries < 1000 * count; ++tries) {
        Subject subject =
            suite.name == "pointwise" ? random_pointwise(bench, random) : random_collective(bench, random);
        const auto* kernel = std::get_if<kernels::Kernel>(&subject);
        if (kernel == nullptr || bench.device->supports(*kernel)) out.push_back(std::move(subject));
    }
    return out;
}

double UnseenShape::error() const { return predicted / measured - 1; }

UnseenErrors compare(const Predictor& predictor, const std::vector<Record>& records, std::uint32_t nodes) {
    UnseenErrors out;
    std::vector<double> signed_errors, sizes;
    double within = 0;
    for (const Record& r : records) {
        if (!r.failure.empty()) continue;
        const Estimate estimate = predicted(predictor, r.subject, nodes);
        const UnseenShape& shape = out.shapes.emplace_back(
            UnseenShape{to_text(r.subject), r.seconds, estimate.seconds, estimate.uncertainty, r.settled});
        signed_errors.push_back(shape.error());
        sizes.push_back(std::abs(shape.error()));
        within += sizes.back() <= 2 * estimate.uncertainty ? 1 : 0;
    }
    if (sizes.empty()) return out;
    const auto count = static_cast<double>(sizes.size());
    std::ranges::sort(sizes);
    std::ranges::sort(signed_errors);
    for (const double e : sizes) out.mean += e / count;
    out.median = sizes[sizes.size() / 2];
    out.p90 = sizes[sizes.size() * 9 / 10];
    out.bias = signed_errors[signed_errors.size() / 2];
    out.within = within / count;
    std::ranges::stable_sort(out.shapes, std::greater{}, [](const UnseenShape& s) { return std::abs(s.error()); });
    return out;
}

}  // namespace orrery::calibrate
