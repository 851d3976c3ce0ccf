#include "tests/calibrate/small_profile.hpp"

#include "calibrate/profile_check.hpp"

namespace orrery::calibrate {

namespace {
const Provenance made{"test machine", "fixed", "2024", "none", "made up for a test", "none"};
}

Profile small_profile() {
    Profile profile;
    profile.name = "small";
    profile.device = "test machine";
    profile.made_by = "test";
    for (const KnownConstant& known : known_constants)
        if (known.required) profile.constants[std::string(known.name)] = {known.least == 0 ? 0.001 : 1.0, "1", "test"};
    profile.constants["peak_half_flops"] = {100e12, "flop/s", "test"};
    profile.constants["memory_bytes_per_second"] = {1e12, "B/s", "test"};
    profile.gemm.push_back({kernels::Dtype::bf16, made, {}});
    for (const std::uint32_t m : {256U, 1024U, 4096U})
        for (const std::uint32_t n : {512U, 1024U, 2048U})
            for (const std::uint32_t k : {512U, 1024U, 2048U}) {
                const double flops = 2.0 * m * n * k;
                profile.gemm[0].points.push_back({m, n, k, static_cast<float>(4e-6 + flops / 50e12)});
            }
    profile.attention.push_back({false, true, made, {}});
    for (const std::uint32_t heads : {8U, 16U})
        for (const std::uint32_t batch : {1U, 4U})
            for (const std::uint32_t seq : {1024U, 2048U, 4096U}) {
                const double flops = 2.0 * batch * heads * seq * static_cast<double>(seq) * 128;
                profile.attention[0].points.push_back(
                    {batch, seq, heads, heads, 128, static_cast<float>(5e-6 + flops / 40e12)});
            }
    profile.pointwise.push_back({kernels::PointwiseKind::add, made, {{1e6, 0, 2e11}, {1e7, 0, 6e11}, {1e8, 0, 8e11}}});
    profile.collectives.push_back(
        {kernels::CollectiveKind::all_reduce, 2, made, {{1024, 10e-6}, {1048576, 20e-6}, {1073741824, 10e-3}}});
    profile.collectives.push_back(
        {kernels::CollectiveKind::all_reduce, 8, made, {{1024, 20e-6}, {1048576, 40e-6}, {1073741824, 20e-3}}});
    return profile;
}

}  // namespace orrery::calibrate
