// The random masks of dropouts: a function of where an element stands in training, and of nothing else. So ranks that
// hold the same element draw the same number whatever the mesh, a backward that runs its forward again finds the same
// mask, and runs repeat themselves. Written once for host and GPU.
//
// Numbers are Philox4x32-10's (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3", SC'11),
// which PyTorch's and cuRAND's masks are made of as well: four numbers for each counter of 128 bits, by a key of 64.
#pragma once

#include <cstdint>

#include "kernels/on_both.hpp"

namespace orrery::kernels {

/// Four words of 32 bits.
struct PhiloxWords {
    std::uint32_t x0, x1, x2, x3;
    bool operator==(const PhiloxWords&) const = default;
    /// i: 0 to 3.
    [[nodiscard]] ORRERY_ON_BOTH constexpr std::uint32_t at(std::uint32_t i) const {
        return (i & 2U) == 0 ? ((i & 1U) == 0 ? x0 : x1) : ((i & 1U) == 0 ? x2 : x3);
    }
};

inline constexpr int philox_rounds = 10;
/// Multipliers of the first and third word, and what the key's words grow by from round to round.
inline constexpr std::uint32_t philox_multiplier_0 = 0xD2511F53U, philox_multiplier_1 = 0xCD9E8D57U;
inline constexpr std::uint32_t philox_step_0 = 0x9E3779B9U, philox_step_1 = 0xBB67AE85U;

ORRERY_ON_BOTH constexpr PhiloxWords philox(PhiloxWords c, std::uint32_t key_0, std::uint32_t key_1) {
    for (int round = 0; round < philox_rounds; ++round) {
        const std::uint64_t one = std::uint64_t{philox_multiplier_0} * c.x0,
                            two = std::uint64_t{philox_multiplier_1} * c.x2;
        c = {static_cast<std::uint32_t>(two >> 32U) ^ c.x1 ^ key_0, static_cast<std::uint32_t>(two),
             static_cast<std::uint32_t>(one >> 32U) ^ c.x3 ^ key_1, static_cast<std::uint32_t>(one)};
        key_0 += philox_step_0;
        key_1 += philox_step_1;
    }
    return c;
}

/// Which mask a launch draws, and which part of it is its own.
struct DropoutMask {
    double probability = 0.1;  ///< of an element to become zero: GPT-3's and Megatron-LM's default. Below 1
    std::uint64_t seed = 0;    ///< of the run
    std::uint32_t step = 0;    ///< of training
    std::uint32_t site = 0;    ///< which dropout of the model it is
    /// Where the launch's element 0 stands among all elements that the whole model drops at this site in a step. The
    /// others follow it: all of them, or where `run` is given so many, the next as many `stride` further, and so on.
    std::uint64_t first = 0, run = 0, stride = 0;
    /// Device memory of a GPU: a number that is added to `step` as the kernel runs. Null: none.
    const std::uint32_t* live_step = nullptr;

    bool operator==(const DropoutMask&) const = default;
};

/// Such a mask's numbers, as a kernel draws them.
struct MaskNumbers {
    std::uint32_t key_0 = 0, key_1 = 0, step = 0, site = 0;
    std::uint64_t first = 0, run = 0, stride = 0;
    std::uint32_t threshold = 0;  ///< smaller numbers drop their element
    float kept = 1;               ///< what the others are multiplied by: the mean stays
    const std::uint32_t* live_step = nullptr;

    MaskNumbers() = default;
    explicit MaskNumbers(const DropoutMask& mask)
        : key_0(static_cast<std::uint32_t>(mask.seed)),
          key_1(static_cast<std::uint32_t>(mask.seed >> 32U)),
          step(mask.step),
          site(mask.site),
          first(mask.first),
          run(mask.run),
          stride(mask.stride),
          threshold(static_cast<std::uint32_t>(mask.probability * 0x1p32)),
          kept(static_cast<float>(1 / (1 - mask.probability))),
          live_step(mask.live_step) {}

    /// The launch's element number `element`, among all of the model's.
    [[nodiscard]] ORRERY_ON_BOTH constexpr std::uint64_t place(std::uint64_t element) const {
        return first + (run == 0 ? element : element / run * stride + element % run);
    }
    /// The counter's four elements from place 4 `quarter` on.
    [[nodiscard]] ORRERY_ON_BOTH constexpr PhiloxWords four(std::uint64_t quarter) const {
        const std::uint32_t now = live_step == nullptr ? step : step + *live_step;
        return philox({static_cast<std::uint32_t>(quarter), static_cast<std::uint32_t>(quarter >> 32U), now, site},
                      key_0, key_1);
    }
    /// Whether the element at a place stays.
    [[nodiscard]] ORRERY_ON_BOTH constexpr bool keeps(std::uint64_t at) const {
        return four(at / 4).at(static_cast<std::uint32_t>(at % 4)) >= threshold;
    }
    /// What it is multiplied by.
    [[nodiscard]] ORRERY_ON_BOTH constexpr float factor(std::uint64_t at) const { return keeps(at) ? kept : 0.0f; }
};

}  // namespace orrery::kernels
