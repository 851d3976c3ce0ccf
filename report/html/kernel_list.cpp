#include "report/html/kernel_list.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "kernels/kernel.hpp"
#include "report/census.hpp"
#include "sim/kernel_price.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;
using kernels::Dtype;

Census census_of(const sim::Prediction& p, std::uint32_t rank) {
    return census(p.program, p.program.role[rank], nullptr);
}

/// The first line of an explanation, without the name and the time before it.
std::string source(const std::string& explanation) {
    const std::string line = explanation.substr(0, explanation.find('\n'));
    const std::size_t comma = line.find(", ");
    return comma == std::string::npos ? line : line.substr(comma + 2);
}

Json entry(const KernelUse& use, const sim::KernelPrice& price, const std::string& explanation, double step_seconds) {
    const calibrate::Estimate& estimate = price.estimate;
    return {{"text", kernels::to_text(use.kernel)},
            {"count", use.count},
            {"seconds", price.seconds()},
            {"flops", kernels::flops(use.kernel)},
            {"bytes", kernels::bytes(use.kernel)},
            {"share", price.seconds() * static_cast<double>(use.count) / step_seconds},
            {"extrapolated", estimate.extrapolated},
            {"derived", estimate.derived.empty() ? Json() : Json(estimate.derived)},
            {"source", source(explanation)}};
}

/// Of matrix products; fp32 where there are none.
Dtype usual_format(const Census& census) {
    std::map<Dtype, double> flops;
    for (const KernelUse& use : census.kernels)
        if (const auto* gemm = std::get_if<kernels::Gemm>(&use.kernel); gemm != nullptr)
            flops[gemm->dtype] += kernels::flops(use.kernel) * static_cast<double>(use.count);
    const auto most = std::ranges::max_element(flops, {}, [](const auto& each) { return each.second; });
    return most == flops.end() ? Dtype::fp32 : most->first;
}

double peak(const calibrate::Predictor& predictor, Dtype format) {
    const double half = predictor.constant("peak_half_flops");
    switch (format) {
        case Dtype::fp8: return predictor.constant_or("peak_fp8_flops", half);
        case Dtype::fp4: return predictor.constant_or("peak_fp4_flops", half);
        case Dtype::fp32: return predictor.constant_or("peak_single_flops", half);
        case Dtype::tf32:
        case Dtype::fp16:
        case Dtype::bf16: return half;
    }
    return half;
}

}  // namespace

Json kernel_list(const strategies::Plan& plan, const sim::Prediction& p, const Device& device, std::uint32_t rank) {
    const auto& [predictor, gpu, node] = device;
    const sim::KernelPrices prices(p.program, plan, gpu, predictor, node.gpus());
    std::vector<Json> entries;
    for (const KernelUse& use : census_of(p, rank).kernels)
        entries.push_back(entry(use, prices.of(use.kernel), predictor.explain(use.kernel), p.step_time_s));
    std::ranges::stable_sort(entries, std::greater{}, [](const Json& each) { return each["share"].get<double>(); });
    return entries;
}

Json roof(const sim::Prediction& p, const calibrate::Predictor& predictor, std::uint32_t rank) {
    const Dtype format = usual_format(census_of(p, rank));
    return {{"gpu", predictor.profile().device},
            {"format", kernels::name(format)},
            {"flops_per_second", peak(predictor, format)},
            {"bytes_per_second", predictor.constant("memory_bytes_per_second")}};
}

}  // namespace orrery::report
