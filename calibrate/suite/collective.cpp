// Collectives among all ranks that run: powers of four first, the powers of two between them, then where a switch of
// protocol leaves the largest error.
#include <map>

#include "calibrate/suite/suite.hpp"

namespace orrery::calibrate {

namespace {

constexpr double target = 0.05;

std::uint64_t whole(double bytes, std::uint32_t ranks) {
    const std::uint64_t unit = std::uint64_t{4} * ranks;  // fp32 elements that the ranks share evenly
    return static_cast<std::uint64_t>(bytes) / unit * unit;
}

}  // namespace

std::vector<Subject> collective_grid(const Bench& bench) {
    std::vector<Subject> out;
    const std::uint64_t most = bench.is_cpu() ? 16U << 20U : std::uint64_t{1} << 30U;
    for (const std::uint64_t first : {1024U, 2048U})
        for (std::uint64_t bytes = first; bytes <= most; bytes *= 4)
            for (int kind = 0; kind < kernels::collective_kinds; ++kind)
                if (const std::uint64_t size = whole(static_cast<double>(bytes), bench.ranks);
                    2 * size < bench.most_bytes())
                    out.emplace_back(CollectiveShape{static_cast<kernels::CollectiveKind>(kind), bench.ranks, size});
    return out;
}

std::vector<Subject> collective_refine(const Bench& bench, std::span<const Record> measured) {
    std::map<kernels::CollectiveKind, std::map<std::uint64_t, double>> sweeps;
    for (const Record& r : measured)
        if (const auto* c = std::get_if<CollectiveShape>(&r.subject);
            c != nullptr && r.failure.empty() && c->ranks == bench.ranks)
            sweeps[c->kind][c->bytes] = r.seconds;
    std::vector<Subject> out;
    for (const auto& [kind, sizes] : sweeps) {
        std::vector<SweepPoint> sweep;
        for (const auto& [bytes, seconds] : sizes) sweep.push_back({static_cast<double>(bytes), seconds});
        const std::uint64_t bytes = whole(worst_gap(sweep, target), bench.ranks);
        if (bytes > 0 && !sizes.contains(bytes)) out.emplace_back(CollectiveShape{kind, bench.ranks, bytes});
    }
    return out;
}

}  // namespace orrery::calibrate
