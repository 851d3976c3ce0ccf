// In the place of the kernels' file of this name: the same instructions, by a warp of threads on a CPU.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cuda/attention_fragment.hpp"
#include "tests/emulated/machine/device.hpp"

namespace orrery::kernels::cuda {

inline float power_of_two(float x) { return std::exp2(x); }

inline std::uint32_t shared_address(const void* memory) { return emulated::shared_address(memory); }

inline float element_of(std::uint16_t bits, __half) { return __half2float({bits}); }
inline float element_of(std::uint16_t bits, __nv_bfloat16) { return __bfloat162float({bits}); }

/// The halves of a tie go away from zero. NaN has one pattern.
inline std::uint32_t round_to_tf32(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    if (std::isnan(x)) return 0x7fffffffu;
    return std::isinf(x) ? bits : (bits + 0x1000u) & ~0x1fffu;
}

/// Of a product's operand. Hardware ignores the low bits in silence: as a truncation, which no kernel means.
inline float tf32_of(std::uint32_t bits) {
    const auto value = std::bit_cast<float>(bits);
    if (!std::isnan(value) && (bits & 0x1fffu) != 0)
        emulated::fault("mma of tf32 with an operand that was not rounded");
    return value;
}

/// Lane l gave the address of row l % 8 of matrix l / 8; element (row, column) goes to lane 4 row + column / 2.
template <bool transposed>
void give_matrices(const emulated::Slots& addresses, emulated::Slots& registers) {
    for (unsigned lane = 0; lane < emulated::lanes; ++lane) {
        std::uint32_t address = 0;
        std::memcpy(&address, addresses[lane].data(), sizeof address);
        std::array<std::uint16_t, 8> row;
        emulated::read_shared(address, row.data(), sizeof row);
        for (unsigned column = 0; column < 8; ++column) {
            const unsigned r = transposed ? column : lane % 8, c = transposed ? lane % 8 : column;
            const std::size_t at = (lane / 8) * sizeof(std::uint32_t) + c % 2 * sizeof(std::uint16_t);
            std::memcpy(registers[4 * r + c / 2].data() + at, &row[column], sizeof row[column]);
        }
    }
}

inline void load_matrices(std::uint32_t (&r)[4], std::uint32_t address) {
    emulated::meet(emulated::Meeting::load_matrices, address, give_matrices<false>, r);
}

inline void load_transposed(std::uint32_t (&r)[4], std::uint32_t address) {
    emulated::meet(emulated::Meeting::load_matrices, address, give_matrices<true>, r);
}

/// What a lane gives to a product.
struct Fragments {
    float c[4];
    std::uint32_t a[4], b[2];
};

/// Operands of a product, as the lanes' registers hold them: A by rows, B by columns.
template <class T, int depth>
struct Operands {
    float a[16][depth], b[8][depth];

    /// Of 16 bits, two in a register.
    void take(int lane, const Fragments& own) {
        const int g = lane / 4, t = lane % 4;
        for (int i = 0; i < 8; ++i)
            a[g + i / 2 % 2 * 8][2 * t + i / 4 * 8 + i % 2] =
                element_of(static_cast<std::uint16_t>(own.a[i / 2] >> 16 * (i % 2)), T{});
        for (int i = 0; i < 4; ++i)
            b[g][2 * t + i / 2 * 8 + i % 2] = element_of(static_cast<std::uint16_t>(own.b[i / 2] >> 16 * (i % 2)), T{});
    }
};

template <>
inline void Operands<float, 8>::take(int lane, const Fragments& own) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) a[g + i % 2 * 8][t + i / 2 * 4] = tf32_of(own.a[i]);
    for (int i = 0; i < 2; ++i) b[g][t + i * 4] = tf32_of(own.b[i]);
}

/// C (16 x 8) += A (16 x depth) B (depth x 8), in fp32. attention_fragment.hpp has the layouts.
template <class T>
void give_product(const emulated::Slots& given, emulated::Slots& sums) {
    constexpr int depth = product_depth<T>;
    Operands<T, depth> operands;
    std::array<Fragments, emulated::lanes> all;
    for (int lane = 0; lane < 32; ++lane) {
        std::memcpy(&all[lane], given[lane].data(), sizeof(Fragments));
        operands.take(lane, all[lane]);
    }
    for (int lane = 0; lane < 32; ++lane) {
        float c[4];
        for (int i = 0; i < 4; ++i) {
            const Place16 at = result_at(lane, i);
            c[i] = all[lane].c[i];
            for (int k = 0; k < depth; ++k) c[i] += operands.a[at.row][k] * operands.b[at.col][k];
        }
        std::memcpy(sums[lane].data(), c, sizeof c);
    }
}

template <class T>
void multiply(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
    const Fragments own{{c[0], c[1], c[2], c[3]}, {a[0], a[1], a[2], a[3]}, {b0, b1}};
    emulated::meet(emulated::Meeting::multiply, own, give_product<T>, c);
}

/// Arrives when it is waited for, and not before: the latest that hardware may take.
template <int bytes>
void copy_async(void* to, const void* from, bool there) {
    emulated::copy_later(to, from, bytes, there ? bytes : 0);
}
inline void commit_copies() { emulated::commit_copies(); }
template <int pending>
void wait_copies() {
    emulated::wait_copies(pending);
}

inline std::uint64_t nanoseconds() { return emulated::nanoseconds(); }
inline std::uint64_t cycles() { return emulated::cycles(); }

}  // namespace orrery::kernels::cuda
