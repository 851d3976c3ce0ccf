// A product and a memory-bound kernel beside what runs beside them in a training step: collectives, copies to the host.
#include "calibrate/suite/suite.hpp"

namespace orrery::calibrate {

std::vector<Subject> overlap_grid(const Bench& bench) {
    const auto dtype = bench.dtypes.front();
    const std::uint32_t size = bench.is_cpu() ? 512 : 4096;
    const kernels::Kernel product = kernels::Gemm{dtype, 1, size, size, size},
                          stream = kernels::Pointwise{kernels::PointwiseKind::add, dtype, 2 * size, size};
    std::vector<Beside> others;
    if (bench.is_cpu()) others.emplace_back(CopyShape{kernels::CopyKind::device_to_device, 16U << 20U});
    if (bench.ranks > 1 && !bench.is_cpu())  // a CPU's collectives run on the thread that calls them
        for (const auto kind : {kernels::CollectiveKind::all_reduce, kernels::CollectiveKind::all_gather})
            for (const std::uint64_t mebibytes : {16U, 128U}) {
                const std::uint64_t unit = std::uint64_t{4} * bench.ranks;
                others.emplace_back(CollectiveShape{kind, bench.ranks, (mebibytes << 20U) / unit * unit});
            }
    for (const auto kind : {kernels::CopyKind::device_to_host, kernels::CopyKind::host_to_device})
        if (!bench.is_cpu()) others.emplace_back(CopyShape{kind, 64U << 20U});
    std::vector<Subject> out;
    for (const Beside& other : others)
        for (const auto& kernel : {product, stream})
            if (bench.device->supports(kernel)) out.emplace_back(OverlapShape{kernel, other});
    return out;
}

}  // namespace orrery::calibrate
