#include "doors/trace/product_times.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "base/statistics.hpp"
#include "doors/trace/product.hpp"

namespace orrery::doors::trace {

namespace {

using kernels::Dtype;
using kernels::Gemm;
using kernels::GemmPass;

/// One call of an operator: its kernels.
struct Reading {
    double seconds = 0;
    bool rounds = false;         ///< to tf32
    std::optional<Dtype> named;  ///< by a kernel's name
    Origin origin;
};

/// cuBLAS and CUTLASS name kernels so that round fp32 to tf32; "ampere_sgemm" does not.
bool rounds_to_tf32(const std::string& kernel) {
    return kernel.find("tf32") != std::string::npos || kernel.find("s1688") != std::string::npos;
}

/// Forward products by the sequence number that their backward operators have too.
using Forward = std::unordered_map<std::int64_t, std::uint32_t>;

Forward forward_products(const Trace& trace) {
    Forward found;
    for (const HostSpan& span : trace.host)
        if (span.product != none && span.sequence >= 0) found.try_emplace(span.sequence, span.product);
    return found;
}

std::optional<GemmPass> pass_of(const Trace& trace, const Forward& forward, const Reading& reading) {
    const Product& product = trace.products[trace.host[reading.origin.product].product];
    if (product.strided) return product.layout;
    if (product.batch > 1) return std::nullopt;
    if (reading.origin.phase != Phase::backward) return GemmPass::forward;
    const auto found = forward.find(reading.origin.sequence);
    if (reading.origin.sequence < 0 || found == forward.end()) return std::nullopt;
    return pass_of(product, trace.products[found->second]);
}

/// What the operands are, or are rounded to.
std::optional<Dtype> dtype_of(const Product& product, const Reading& reading) {
    if (!product.dtype) return reading.named;
    return *product.dtype == Dtype::fp32 && reading.rounds ? Dtype::tf32 : product.dtype;
}

/// The kernels of each call of a product.
std::map<std::uint32_t, Reading> readings_of(const Trace& trace, const std::vector<Origin>& origins, const Step& step) {
    std::map<std::uint32_t, Reading> calls;
    for (const std::uint32_t i : step.device) {
        const DeviceSpan& span = trace.device[i];
        const Origin& origin = origins[i];
        const std::string& kernel = trace.names[span.name];
        if (origin.product == none || trace.host[origin.product].product == none ||
            kind_of(span, kernel, origin) != Kind::gemm)
            continue;
        Reading& reading = calls[origin.product];
        reading.seconds += static_cast<double>(span.end - span.begin) * 1e-9;
        reading.rounds = reading.rounds || rounds_to_tf32(kernel);
        if (!reading.named) reading.named = dtype_in(kernel);
        reading.origin = origin;
    }
    return calls;
}

}  // namespace

ProductTimes product_times(const Trace& trace, const std::vector<Origin>& origins, const std::vector<Step>& steps) {
    using Key = std::tuple<Dtype, GemmPass, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
    const Forward forward = forward_products(trace);
    std::map<Key, std::vector<double>> times;
    ProductTimes out;
    for (const Step& step : steps) {
        for (const auto& [call, reading] : readings_of(trace, origins, step)) {
            const Product& product = trace.products[trace.host[call].product];
            const std::optional<GemmPass> pass = pass_of(trace, forward, reading);
            const std::optional<Dtype> dtype = dtype_of(product, reading);
            const auto gemm = pass && dtype ? kernel_of(product, *pass, *dtype) : std::nullopt;
            if (!gemm || reading.seconds <= 0) {
                ++out.left_out;
                continue;
            }
            times[{gemm->dtype, gemm->pass, gemm->batch, gemm->m, gemm->n, gemm->k}].push_back(reading.seconds);
        }
    }
    for (const auto& [key, seconds] : times) {
        const auto& [dtype, pass, batch, m, n, k] = key;
        out.products.push_back({{dtype, batch, m, n, k, pass},
                                median(seconds),
                                half_quartile_range(seconds),
                                static_cast<std::uint32_t>(seconds.size())});
    }
    return out;
}

}  // namespace orrery::doors::trace
