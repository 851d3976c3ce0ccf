#include "hardware/attention_kernels.hpp"

#include "hardware/compute_capability.hpp"
#include "hardware/cudnn_attention.hpp"

namespace orrery::hardware {

namespace {

constexpr AttentionRates as_the_table{1, 1, "the kernels of the table"};

/// Of causal attention in bf16 on an H200, by PyTorch 2.11 with FlashAttention-2 and cuDNN 9.19, over what the profile
/// h200 says of the same shapes: medians of five of heads of 128 and 4,096 to 32,768 tokens, and one of 192 and 4,096
/// (tests/gpu/measured/h200-pytorch-kernels.json; tests/calibrate/attention_origins_test.cpp holds them to it).
constexpr std::string_view on_h200 =
    "PyTorch 2.11 and cuDNN 9.19 on an H200, 4,096 to 32,768 tokens, over the profile's table "
    "(tests/gpu/measured/h200-pytorch-kernels.json)";
constexpr std::uint32_t usual_heads = 128, wide_heads = 129;  ///< and more
constexpr AttentionRates flash_2_on_hopper{0.527, 0.550, on_h200};
constexpr AttentionRates wide_flash_2_on_hopper{0.458, 0.477, on_h200};
constexpr AttentionRates cudnn_on_hopper{1.031, 0.954, on_h200};
constexpr AttentionRates wide_cudnn_on_hopper{1.084, 0.685, on_h200};
/// Tables of Ampere are FlashAttention-2's.
/// "around 2x faster than FlashAttention" (arXiv 2307.08691, section 4.1).
constexpr AttentionRates flash_1_over_2{1 / 2.0, 1 / 2.0, "half of FlashAttention-2 (arXiv 2307.08691, section 4.1)"};
/// "around 1.3-1.5x faster than FlashAttention in Triton in the forward pass and around 2x faster in the backward pass"
/// (ibid.)
constexpr AttentionRates triton_over_flash_2{
    1 / 1.4, 1 / 2.0, "FlashAttention-2 is 1.3 to 1.5 times as fast forward, twice backward (arXiv 2307.08691, 4.1)"};

/// Drawing numbers takes the vector units that a softmax needs, which newer kernels run beside the products.
constexpr AttentionRates newer_dropout{0.8, 0.65,
                                       "FlashAttention-4 with a dropout on GB200, like cuDNN's: forward 75 to 85%, "
                                       "backward 60 to 70% of the TFLOP/s without "
                                       "(flash-attention, pull request 2597)"};
constexpr AttentionRates flash_2_dropout{1 / 1.128, 1 / 1.059,
                                         "12.8% more forward, 5.9% backward: medians of 13 shapes of "
                                         "FlashAttention-2's kind on a GB10 (flash-attention, pull "
                                         "request 2439)"};

/// Tables of Blackwell are an inference framework's of 2025, and as fast as cuDNN was then: 128 heads of 4,096 tokens
/// took it 0.48 ms on a GB300 in October 2025, 0.33 in December (the same benchmark's history), and take 0.49 by the
/// table. Below, what the tables say of the benchmark's shapes, TFLOP/s (tests/calibrate/attention_origins_test.cpp).
/// Heads of fewer columns it measured behind a window alone, which is no shape of a table.
constexpr std::string_view since_9_17 =
    "cuDNN 9.22 on GB200 and GB300 (cudnn-frontend, benchmark/sdpa_benchmark_training/results) over the profiles' "
    "tables";
struct TablesOfBlackwell {
    AttentionPasses usual, wide;
};
constexpr TablesOfBlackwell of_gb200{{{688, 904, 1238, 1256, 1279}, {596, 783, 1072, 1088, 1107}},
                                     {{767, 1015, 1153, 1211, 1229}, {690, 914, 1038, 1091, 1106}}};
constexpr TablesOfBlackwell of_gb300{{{832, 1121, 1407, 1633, 1674}, {720, 971, 1218, 1414, 1449}},
                                     {{872, 1191, 1504, 1595, 1617}, {785, 1073, 1354, 1436, 1456}}};

/// FlashAttention-2's instructions are Ampere's: TFLOP/s of PyTorch's on B200 and GB300, one sequence, 128 heads over
/// 8, and what the tables say of that.
constexpr std::string_view flash_2_there =
    "FlashAttention-2 of PyTorch on B200 and GB300 (cudnn-frontend, benchmark/sdpa_benchmark_training/artifacts) over "
    "the profiles' tables";
constexpr AttentionPasses flash_2_on_b200{{242, 325, 373, 394, 404}, {186, 256, 299, 320, 331}};
constexpr AttentionPasses flash_2_on_gb300{{271, 366, 411, 431, 440}, {230, 292, 330, 351, 362}};
constexpr AttentionPasses table_of_b200{{792, 1010, 1195, 1195, 1196}, {686, 875, 1035, 1035, 1036}};
constexpr AttentionPasses table_of_gb300{{999, 1331, 1587, 1656, 1660}, {865, 1153, 1374, 1434, 1438}};

double over(const AttentionByLength& rate, const AttentionByLength& table, double seq) {
    AttentionByLength share{};
    for (std::size_t i = 0; i < share.size(); ++i) share[i] = rate[i] / table[i];
    return at_length(share, seq);
}

AttentionRates cudnn_on_blackwell(int compute_capability, bool wide, double seq) {
    const TablesOfBlackwell& tables = compute_capability < blackwell_ultra ? of_gb200 : of_gb300;
    const AttentionPasses& table = wide ? tables.wide : tables.usual;
    const auto heads = wide ? AttentionHeads::latent : AttentionHeads::grouped;
    const AttentionPasses& now = cudnn_attention(heads, compute_capability).half;
    return {over(now.forward, table.forward, seq), over(now.backward, table.backward, seq), since_9_17};
}

AttentionRates flash_2_on_blackwell(int compute_capability, double seq) {
    const bool ultra = compute_capability >= blackwell_ultra;
    const AttentionPasses& table = ultra ? table_of_gb300 : table_of_b200;
    const AttentionPasses& there = ultra ? flash_2_on_gb300 : flash_2_on_b200;
    return {over(there.forward, table.forward, seq), over(there.backward, table.backward, seq), flash_2_there};
}

AttentionRates slower(const AttentionRates& rates, const AttentionRates& share) {
    return {rates.forward * share.forward, rates.backward * share.backward, share.origin};
}

AttentionRates flash_2(int compute_capability, const AttentionShape& shape) {
    if (is_blackwell(compute_capability)) return flash_2_on_blackwell(compute_capability, shape.seq);
    if (!is_hopper(compute_capability)) return as_the_table;
    return shape.head_dim >= wide_heads ? wide_flash_2_on_hopper : flash_2_on_hopper;
}

AttentionRates without_dropout(AttentionKernel kernel, int compute_capability, const AttentionShape& shape) {
    const bool on_hopper = is_hopper(compute_capability), wide = shape.head_dim >= wide_heads;
    const bool measured_since_9_17 = shape.head_dim >= usual_heads && shape.window == 0;
    if (kernel == AttentionKernel::cudnn_9_17 && is_blackwell(compute_capability) && measured_since_9_17)
        return cudnn_on_blackwell(compute_capability, wide, shape.seq);
    const AttentionRates older = flash_2(compute_capability, shape);
    switch (kernel) {
        case AttentionKernel::flash_1: return slower(older, flash_1_over_2);
        case AttentionKernel::flash_triton: return slower(older, triton_over_flash_2);
        case AttentionKernel::flash_2: return older;
        case AttentionKernel::cudnn:
        case AttentionKernel::cudnn_9_17:
            return !on_hopper ? as_the_table : wide ? wide_cudnn_on_hopper : cudnn_on_hopper;
        case AttentionKernel::newest: break;
    }
    return as_the_table;
}

}  // namespace

AttentionRates attention_dropout(AttentionKernel kernel, int compute_capability) {
    const bool newer = kernel != AttentionKernel::flash_1 && kernel != AttentionKernel::flash_triton &&
                       kernel != AttentionKernel::flash_2;
    const bool has_newer = is_hopper(compute_capability) || is_blackwell(compute_capability);
    return newer && has_newer ? newer_dropout : flash_2_dropout;
}

AttentionRates attention_rates(AttentionKernel kernel, int compute_capability, const AttentionShape& shape) {
    AttentionRates rates = without_dropout(kernel, compute_capability, shape);
    if (!shape.dropout) return rates;
    const AttentionRates own = attention_dropout(kernel, compute_capability),
                         table = attention_dropout(AttentionKernel::newest, compute_capability);
    rates.forward *= own.forward / table.forward;
    rates.backward *= own.backward / table.backward;
    return rates;
}

}  // namespace orrery::hardware
