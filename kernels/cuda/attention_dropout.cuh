// What a dropout multiplies probabilities by, where they lie in the registers of a warp (attention_fragment.hpp). A
// counter of Philox gives the numbers of four keys beside each other, which several lanes hold: each lane draws another
// counter, and they exchange the words, so that four elements cost one draw and not four.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/attention_fragment.hpp"
#include "kernels/dropout_mask.hpp"

namespace orrery::kernels::cuda {

/// Where the probabilities of one query of a head [seq, seq] begin among those that the model drops. heads: of a
/// sequence. 0 where nothing is dropped.
template <bool drops>
__device__ __forceinline__ std::uint64_t mask_of_query(const MaskNumbers& numbers, std::uint64_t batch,
                                                       std::uint32_t heads, std::uint32_t head, std::uint32_t seq,
                                                       std::uint32_t query) {
    if constexpr (!drops) return 0;
    return numbers.place((batch * heads + head) * seq * seq) + std::uint64_t{query} * seq;
}

__device__ __forceinline__ float factor_of(const MaskNumbers& numbers, std::uint32_t word) {
    return word >= numbers.threshold ? numbers.kept : 0.0f;
}

/// Whether all of a head's queries begin at a counter's first word.
__device__ __forceinline__ bool begins_at_counters(std::uint64_t first, std::uint32_t seq) {
    return (first | seq) % 4 == 0;
}

/// Of 16 queries and 8 keys from `part` on, in the order of result_at. first: where a warp's first score is in the
/// mask, whose queries are `seq` apart. Both lanes of a pair hold two keys of four: one draws for the query of the
/// upper rows, the other for that of the lower. By all lanes of a warp.
__device__ __forceinline__ void factors_by_query(const MaskNumbers& numbers, std::uint64_t first, Place16 part,
                                                 std::uint32_t seq, int lane, float (&by)[4]) {
    first += std::uint64_t(part.row) * seq + part.col;
    if (!begins_at_counters(first, seq)) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const Place16 at = result_at(lane, i);
            by[i] = numbers.factor(first + std::uint64_t(at.row) * seq + at.col);
        }
        return;
    }
    const int half = lane % 2;  // of a counter's words, and of the rows that this lane draws for
    const Place16 at = result_at(lane, 2 * half);
    const PhiloxWords words = numbers.four((first + std::uint64_t(at.row) * seq + at.col) / 4);
    const std::uint32_t low = half == 0 ? words.x0 : words.x2, high = half == 0 ? words.x1 : words.x3;
    const std::uint32_t other_low = __shfl_xor_sync(0xffffffffu, half == 0 ? words.x2 : words.x0, 1),
                        other_high = __shfl_xor_sync(0xffffffffu, half == 0 ? words.x3 : words.x1, 1);
    by[0] = factor_of(numbers, half == 0 ? low : other_low);
    by[1] = factor_of(numbers, half == 0 ? high : other_high);
    by[2] = factor_of(numbers, half == 0 ? other_low : low);
    by[3] = factor_of(numbers, half == 0 ? other_high : high);
}

/// Of 16 keys and 8 queries from `part` on. Four lanes hold four keys beside each other, each of two queries in the
/// upper and in the lower rows: each draws for one of these four pieces.
__device__ __forceinline__ void factors_by_key(const MaskNumbers& numbers, std::uint64_t first, Place16 part,
                                               std::uint32_t seq, int lane, float (&by)[4]) {
    first += std::uint64_t(part.col) * seq + part.row;
    const auto place = [&](Place16 at) { return first + std::uint64_t(at.col) * seq + at.row; };
    if (!begins_at_counters(first, seq)) {
#pragma unroll
        for (int i = 0; i < 4; ++i) by[i] = numbers.factor(place(result_at(lane, i)));
        return;
    }
    const int own = lane / 4 % 4;  // its key among the four, and the piece that it draws
    const PhiloxWords words = numbers.four(place(result_at(lane, own)) / 4);
    std::uint32_t received[4];  // by what the lanes' numbers differ in
#pragma unroll
    for (int other = 0; other < 4; ++other)
        received[other] = __shfl_xor_sync(0xffffffffu, words.at(own ^ other), 4 * other);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const PhiloxWords by_difference{received[0], received[1], received[2], received[3]};
        by[i] = factor_of(numbers, by_difference.at(i ^ own));
    }
}

}  // namespace orrery::kernels::cuda
