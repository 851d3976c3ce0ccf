#include "sim/work_times.hpp"

#include <algorithm>
#include <cmath>

#include "base/normal.hpp"
#include "sim/memory_rate.hpp"

namespace orrery::sim {

namespace {

/// Extents are whole tiles; between two of them the time is interpolated, and beyond the largest goes on as there.
constexpr double tile = 128, part_of_tile = 16;
constexpr double longest_row = 4096;
constexpr double largest_extent = 1 << 20;

}  // namespace

WorkTimes::WorkTimes(const Kinds& kinds, kernels::Dtype dtype, std::uint32_t ranks)
    : kinds_(kinds), dtype_(dtype), ranks_(ranks), known_(kinds.size()) {}

double WorkTimes::computing(std::uint32_t kind, double flops) const {
    const calibrate::Predictor& predictor = *kinds_[kind].predictor;
    const auto square = [&](double extent) {
        const auto side = static_cast<std::uint32_t>(extent);
        return kernels::Gemm{dtype_, 1, side, side, side};
    };
    const double exact = std::cbrt(flops / 2);
    const double step = exact < tile ? part_of_tile : tile;
    const double less = std::clamp(std::floor(exact / step) * step, part_of_tile, largest_extent), more = less + step;
    const double slowest = 1 + predictor.constant_or("board_spread", 0) * expected_maximum(ranks_);
    const double seconds = predictor.kernel(square(less)).seconds;
    const double between =
        (flops - kernels::flops(square(less))) / (kernels::flops(square(more)) - kernels::flops(square(less)));
    if (between <= 0) return seconds * slowest;
    return (seconds + between * (predictor.kernel(square(more)).seconds - seconds)) * slowest;
}

double WorkTimes::moving(std::uint32_t kind, double bytes) const {
    const calibrate::Predictor& predictor = *kinds_[kind].predictor;
    const double memory = memory_share(kinds_[kind].gpu, predictor);
    const double each = kernels::bytes(kernels::Pointwise{kernels::PointwiseKind::add, dtype_, 1, 1});
    const double elements = std::max(1.0, std::ceil(bytes / each)), columns = std::min(elements, longest_row);
    const kernels::Pointwise sum{kernels::PointwiseKind::add, dtype_,
                                 static_cast<std::uint64_t>(std::ceil(elements / columns)),
                                 static_cast<std::uint64_t>(columns)};
    return predictor.kernel(sum).seconds * memory;
}

double WorkTimes::seconds(std::uint32_t kind, double flops, double bytes) {
    if (flops <= 0 && bytes <= 0) return 0;
    const auto [place, fresh] = known_[kind].try_emplace({flops, bytes}, 0.0);
    if (fresh)  // one FLOP stands for none where it must not be none (report/chakra.hpp)
        place->second = std::max(flops > 1 ? computing(kind, flops) : 0, bytes > 0 ? moving(kind, bytes) : 0) +
                        kinds_[kind].predictor->constant("kernel_gap_seconds");
    return place->second;
}

}  // namespace orrery::sim
