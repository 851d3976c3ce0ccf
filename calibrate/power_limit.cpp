#include "calibrate/power_limit.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include "base/overloaded.hpp"

namespace orrery::calibrate {

namespace {

/// best_half_rate(), of what the predictor knows: prices of many plans ask for it.
double best_rate(const Predictor& predictor, const Machine& machine) {
    double best = 0;
    const auto& tables = predictor.profile().gemm;
    for (std::size_t t = 0; t < tables.size(); ++t)
        best = std::max(best, predictor.best_product_rate(t) * machine.half_flops / machine.peak(tables[t].dtype));
    return best > 0 ? best : machine.half_flops;
}

}  // namespace

PowerLimit::PowerLimit(const Predictor& predictor, double share)
    : machine_(predictor.profile().constants),
      sustained_clock_(predictor.constant_or("sustained_clock", 0)),
      sustained_rate_(predictor.constant("sustained_gemm") * best_rate(predictor, machine_)),
      share_(share) {}

double PowerLimit::clock(double rate) const {
    if (!known() || rate <= 0) return 1;
    return std::min(1.0, sustained_clock_ * std::sqrt(share_ * sustained_rate_ / rate));
}

double PowerLimit::half_operations(const kernels::Kernel& kernel) const {
    const auto of = [&](const auto& any) {
        const bool by_vectors = any.dtype == kernels::Dtype::fp32;
        return kernels::flops(any) * (by_vectors ? 1 : machine_.peak(kernels::Dtype::bf16) / machine_.peak(any.dtype));
    };
    return std::visit(
        Overloaded{[&](const kernels::Gemm& gemm) { return of(gemm); },
                   [&](const kernels::Attention& attention) { return of(attention); }, [](const auto&) { return 0.0; }},
        kernel);
}

double PowerLimit::seconds(const Estimate& estimate, double clock) const {
    const auto& [free, best, sustained] = estimate.limited;
    if (!known() || free == 0) return estimate.seconds;
    if (best == 0) return free / clock;
    if (sustained_clock_ >= 1) return estimate.seconds;
    const double share = std::pow(sustained, std::log(clock) / std::log(sustained_clock_));
    return std::max(free, best / share);
}

}  // namespace orrery::calibrate
