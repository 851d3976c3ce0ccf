#include "kernels/cpu/masks.hpp"

#include <algorithm>
#include <array>

#include "kernels/cpu/clones.hpp"

namespace orrery::kernels::cpu {

namespace {

/// Counters whose numbers are formed side by side, at most: they fill the vectors of every processor, and 2 KiB of
/// cache.
constexpr std::size_t together = 64;
using Numbers = std::array<std::uint32_t, 4 * together>;

/// MaskNumbers::four() of `count` counters from `quarter` on: a round of all, then the next.
ORRERY_CLONED void draw(const MaskNumbers& numbers, std::uint64_t quarter, std::size_t count,
                        std::uint32_t* __restrict to) {
    std::uint32_t x0[together], x1[together], x2[together], x3[together];
    for (std::size_t i = 0; i < count; ++i) {
        x0[i] = static_cast<std::uint32_t>(quarter + i);
        x1[i] = static_cast<std::uint32_t>((quarter + i) >> 32U);
        x2[i] = numbers.step;
        x3[i] = numbers.site;
    }
    std::uint32_t key_0 = numbers.key_0, key_1 = numbers.key_1;
    for (int round = 0; round < philox_rounds; ++round) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t one = std::uint64_t{philox_multiplier_0} * x0[i],
                                two = std::uint64_t{philox_multiplier_1} * x2[i];
            x0[i] = static_cast<std::uint32_t>(two >> 32U) ^ x1[i] ^ key_0;
            x1[i] = static_cast<std::uint32_t>(two);
            x2[i] = static_cast<std::uint32_t>(one >> 32U) ^ x3[i] ^ key_1;
            x3[i] = static_cast<std::uint32_t>(one);
        }
        key_0 += philox_step_0;
        key_1 += philox_step_1;
    }
    for (std::size_t i = 0; i < count; ++i) {
        to[4 * i] = x0[i];
        to[4 * i + 1] = x1[i];
        to[4 * i + 2] = x2[i];
        to[4 * i + 3] = x3[i];
    }
}

ORRERY_CLONED void compare(const std::uint32_t* __restrict numbers, std::size_t count, std::uint32_t threshold,
                           std::uint8_t* __restrict to) {
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<std::uint8_t>(numbers[i] >= threshold);
}

ORRERY_CLONED void choose(const std::uint32_t* __restrict numbers, std::size_t count, std::uint32_t threshold,
                          float kept, float* __restrict to) {
    for (std::size_t i = 0; i < count; ++i) to[i] = numbers[i] >= threshold ? kept : 0.0f;
}

/// f(numbers, count, done) over the numbers of consecutive places, `done` of which came before.
template <class Function>
void each_number(const MaskNumbers& numbers, std::uint64_t place, std::size_t count, std::size_t done,
                 const Function& f) {
    Numbers drawn;
    for (const std::size_t end = done + count; done < end;) {
        const std::size_t skipped = place % 4, here = std::min(drawn.size() - skipped, end - done);
        draw(numbers, place / 4, (skipped + here + 3) / 4, drawn.data());
        f(drawn.data() + skipped, here, done);
        place += here;
        done += here;
    }
}

/// The same over the launch's elements [first, first + count), run by run.
template <class Function>
void each_element(const MaskNumbers& numbers, std::uint64_t first, std::size_t count, const Function& f) {
    for (std::size_t done = 0; done < count;) {
        const std::uint64_t element = first + done, left = count - done;
        const auto here = static_cast<std::size_t>(
            numbers.run == 0 ? left : std::min<std::uint64_t>(left, numbers.run - element % numbers.run));
        each_number(numbers, numbers.place(element), here, done, f);
        done += here;
    }
}

}  // namespace

void draw_mask(const MaskNumbers& numbers, std::uint64_t first, std::size_t count, std::uint8_t* to) {
    each_element(numbers, first, count, [&](const std::uint32_t* drawn, std::size_t here, std::size_t done) {
        compare(drawn, here, numbers.threshold, to + done);
    });
}

void draw_factors(const MaskNumbers& numbers, std::uint64_t first, std::size_t count, float* to) {
    each_element(numbers, first, count, [&](const std::uint32_t* drawn, std::size_t here, std::size_t done) {
        choose(drawn, here, numbers.threshold, numbers.kept, to + done);
    });
}

}  // namespace orrery::kernels::cpu
