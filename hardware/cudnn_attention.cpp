#include "hardware/cudnn_attention.hpp"

#include <algorithm>
#include <cmath>

#include "base/enum_table.hpp"
#include "hardware/compute_capability.hpp"

namespace orrery::hardware {

namespace {

using ByHeads = EnumTable<AttentionHeads, CudnnAttention>;

constexpr ByHeads on_gb200{
    CudnnAttention{{{1072, 1406, 1585, 1678, 1743}, {846, 1057, 1193, 1134, 1076}},
                   {{1535, 1925, 2219, 2355, 2329}, {1047, 1364, 1494, 1552, 1532}}},
    CudnnAttention{{{1097, 1408, 1574, 1708, 1622}, {885, 1148, 1332, 1328, 1226}},
                   {{1330, 1685, 1902, 1999, 2046}, {745, 1054, 1287, 1436, 1425}}},
    CudnnAttention{{{153, 161, 165, 167, 104}, {176, 182, 187, 188, 186}},
                   {{153, 161, 164, 166, 168}, {65, 41, 23, 12, 6}}},
};
constexpr ByHeads on_gb300{
    CudnnAttention{{{1285, 1590, 1825, 1967, 1991}, {914, 1143, 1291, 1302, 1289}},
                   {{2069, 2517, 2829, 2998, 2959}, {1158, 1522, 1780, 1844, 1863}}},
    CudnnAttention{{{1373, 1703, 1856, 1915, 1953}, {967, 1248, 1435, 1507, 1490}},
                   {{1751, 2272, 2570, 2727, 2785}, {811, 1143, 1404, 1563, 1590}}},
    CudnnAttention{{{160, 167, 172, 173, 108}, {184, 191, 198, 200, 199}},
                   {{182, 194, 200, 203, 204}, {72, 45, 26, 14, 7}}},
};
constexpr CudnnAttention on_h200{{{484, 591, 644, 673, 688}, {370, 474, 541, 579, 581}},
                                 {{698, 854, 964, 1010, 1042}, {393, 471, 430, 374, 370}}};

}  // namespace

double at_length(const AttentionByLength& values, double seq) {
    const double place = std::clamp(std::log2(seq / shortest_attention), 0.0, static_cast<double>(values.size() - 1));
    const auto below = std::min(static_cast<std::size_t>(place), values.size() - 2);
    return std::lerp(values[below], values[below + 1], place - static_cast<double>(below));
}

const CudnnAttention& cudnn_attention(AttentionHeads heads, int compute_capability) {
    return compute_capability < blackwell         ? on_h200
           : compute_capability < blackwell_ultra ? on_gb200[heads]
                                                  : on_gb300[heads];
}

}  // namespace orrery::hardware
