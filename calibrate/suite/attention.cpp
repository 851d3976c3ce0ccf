// Fused attention: head widths of today's models, lengths, forward and backward; a few that draw a dropout.
#include "calibrate/suite/suite.hpp"
#include "kernels/operands.hpp"

namespace orrery::calibrate {

namespace {

using kernels::Attention;

constexpr double cpu_flops = 20e9, gpu_flops = 200e12;

bool affordable(const Bench& bench, const Attention& a) {
    const double rate = bench.is_cpu() ? cpu_flops * bench.device->facts().multiprocessors : gpu_flops;
    return kernels::flops(a) / rate < bench.seconds_per_point / 2 && kernels::footprint(a) < bench.most_bytes() &&
           bench.device->supports(a);
}

}  // namespace

std::vector<Subject> attention_grid(const Bench& bench) {
    std::vector<Subject> out;
    const auto dtype = bench.dtypes.front();
    struct Heads {
        std::uint32_t heads, kv_heads, head_dim;
    };
    for (const bool backward : {false, true})
        for (const auto& h : {Heads{16, 16, 64}, Heads{12, 12, 128}, Heads{32, 8, 128}, Heads{4, 4, 64}})
            for (const std::uint32_t seq : {128U, 512U, 1024U, 2048U, 4096U, 8192U, 16384U})
                for (const std::uint32_t batch : {1U, 4U}) {
                    const Attention a{dtype, backward, true, batch, seq, h.heads, h.kv_heads, h.head_dim};
                    if (affordable(bench, a)) out.emplace_back(kernels::Kernel(a));
                }
    for (const bool backward : {false, true})
        for (const std::uint32_t seq : {1024U, 2048U}) {
            Attention a{dtype, backward, true, 4, seq, 16, 16, 64};
            a.dropout = true;
            if (affordable(bench, a)) out.emplace_back(kernels::Kernel(a));
        }
    return out;
}

}  // namespace orrery::calibrate
