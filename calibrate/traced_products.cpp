#include "calibrate/traced_products.hpp"

#include <algorithm>
#include <tuple>

#include "calibrate/profile_check.hpp"

namespace orrery::calibrate {

namespace {

auto shape(const BatchedGemmPoint& p) { return std::tuple(p.batch, p.m, p.n, p.k); }

BatchedGemmTable& table_of(Profile& profile, const kernels::Gemm& gemm, const Provenance& provenance) {
    for (BatchedGemmTable& table : profile.batched_gemm)
        if (table.dtype == gemm.dtype && table.pass == gemm.pass) return table;
    profile.batched_gemm.push_back({gemm.dtype, provenance, {}, gemm.pass});
    return profile.batched_gemm.back();
}

}  // namespace

std::size_t put_products(Profile& profile, const std::vector<TracedProduct>& products, const Provenance& provenance) {
    std::size_t replaced = 0;
    for (const TracedProduct& product : products) {
        const kernels::Gemm& gemm = product.gemm;
        BatchedGemmTable& table = table_of(profile, gemm, provenance);
        if (table.provenance.origin.find(provenance.origin) == std::string::npos)
            table.provenance.origin = provenance.origin + "; other shapes: " + table.provenance.origin;
        const BatchedGemmPoint point{gemm.batch,
                                     gemm.m,
                                     gemm.n,
                                     gemm.k,
                                     static_cast<float>(product.seconds),
                                     static_cast<float>(product.half_width)};
        const auto at = std::ranges::lower_bound(table.points, shape(point), {},
                                                 [](const BatchedGemmPoint& p) { return shape(p); });
        if (at != table.points.end() && shape(*at) == shape(point)) {
            *at = point;
            ++replaced;
        } else {
            table.points.insert(at, point);
        }
    }
    check_profile(profile);
    return replaced;
}

}  // namespace orrery::calibrate
