#include "hardware/narrow_attention.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/enum_table.hpp"
#include "hardware/compute_capability.hpp"

namespace orrery::hardware {

namespace {

constexpr double shortest = 2048;  ///< each length below is twice the one before
using ByLength = std::array<double, 5>;

/// Rates in fp8 over those in bf16.
constexpr ByLength over(const ByLength& wide, const ByLength& narrow) {
    ByLength rate{};
    for (std::size_t i = 0; i < rate.size(); ++i) rate[i] = narrow[i] / wide[i];
    return rate;
}

struct Passes {
    ByLength forward, backward;
};
using ByHeads = EnumTable<AttentionHeads, Passes>;

// TFLOP/s in bf16, then in fp8, that cuDNN's benchmark prints, causal, not deterministic (cudnn-frontend,
// benchmark/sdpa_benchmark_training/results of April 2026, cuDNN 9.22; of H200 February 2026, cuDNN 9.19).

constexpr ByHeads on_gb200{
    Passes{over({1072, 1406, 1585, 1678, 1743}, {1535, 1925, 2219, 2355, 2329}),
           over({846, 1057, 1193, 1134, 1076}, {1047, 1364, 1494, 1552, 1532})},
    Passes{over({1097, 1408, 1574, 1708, 1622}, {1330, 1685, 1902, 1999, 2046}),
           over({885, 1148, 1332, 1328, 1226}, {745, 1054, 1287, 1436, 1425})},
    Passes{over({153, 161, 165, 167, 104}, {153, 161, 164, 166, 168}),
           over({176, 182, 187, 188, 186}, {65, 41, 23, 12, 6})},
};
constexpr ByHeads on_gb300{
    Passes{over({1285, 1590, 1825, 1967, 1991}, {2069, 2517, 2829, 2998, 2959}),
           over({914, 1143, 1291, 1302, 1289}, {1158, 1522, 1780, 1844, 1863})},
    Passes{over({1373, 1703, 1856, 1915, 1953}, {1751, 2272, 2570, 2727, 2785}),
           over({967, 1248, 1435, 1507, 1490}, {811, 1143, 1404, 1563, 1590})},
    Passes{over({160, 167, 172, 173, 108}, {182, 194, 200, 203, 204}),
           over({184, 191, 198, 200, 199}, {72, 45, 26, 14, 7})},
};
constexpr Passes grouped_on_h200{over({484, 591, 644, 673, 688}, {698, 854, 964, 1010, 1042}),
                                 over({370, 474, 541, 579, 581}, {393, 471, 430, 374, 370})};

double at(const ByLength& rates, double seq) {
    const double place = std::clamp(std::log2(seq / shortest), 0.0, static_cast<double>(rates.size() - 1));
    const auto below = std::min(static_cast<std::size_t>(place), rates.size() - 2);
    return std::lerp(rates[below], rates[below + 1], place - static_cast<double>(below));
}

}  // namespace

double narrow_attention_rate(AttentionHeads heads, bool backward, double seq, int compute_capability) {
    if (compute_capability < hopper) return 1;
    const Passes& passes = compute_capability < blackwell         ? grouped_on_h200
                           : compute_capability < blackwell_ultra ? on_gb200[heads]
                                                                  : on_gb300[heads];
    return at(backward ? passes.backward : passes.forward, seq);
}

std::string_view narrow_attention_origin() {
    return "cudnn-frontend, benchmark/sdpa_benchmark_training/results: fp8 over bf16 on H200, GB200 and GB300";
}

}  // namespace orrery::hardware
