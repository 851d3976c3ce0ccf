// Products that a traced training ran, as points of a profile.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// One product as it ran.
struct TracedProduct {
    kernels::Gemm gemm;
    double seconds = 0;
    double half_width = 0;  ///< relative
};

/// Puts them among the products of the profile that answer for just their own shape (batched_gemm, whatever their
/// batch): a few shapes of one model leave the grids of published tables as they are. Of a shape that is there already
/// the new time counts; the table's origin then names both. Returns how many times were replaced. Throws Error where
/// the profile would not be sound any more.
std::size_t put_products(Profile& profile, const std::vector<TracedProduct>& products, const Provenance& provenance);

}  // namespace orrery::calibrate
