#include "hardware/narrow_attention.hpp"

#include "hardware/compute_capability.hpp"

namespace orrery::hardware {

double narrow_attention_rate(AttentionHeads heads, bool backward, double seq, int compute_capability) {
    if (!is_hopper(compute_capability) && !is_blackwell(compute_capability)) return 1;
    const CudnnAttention& of = cudnn_attention(heads, compute_capability);
    const AttentionByLength &wide = backward ? of.half.backward : of.half.forward,
                            &narrow = backward ? of.fp8.backward : of.fp8.forward;
    AttentionByLength rate{};
    for (std::size_t i = 0; i < rate.size(); ++i) rate[i] = narrow[i] / wide[i];
    return at_length(rate, seq);
}

}  // namespace orrery::hardware
