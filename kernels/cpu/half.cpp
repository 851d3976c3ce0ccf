#include "kernels/cpu/half.hpp"

#include <cstring>

#include "kernels/bfloat16.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/float16.hpp"

namespace orrery::kernels::cpu {

namespace {

template <class Half>
[[gnu::always_inline]] inline void widen(const void* from, std::size_t first, float* to, std::size_t count) {
    const Half* const values = static_cast<const Half*>(from) + first;
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) to[i] = to_float(values[i]);
}

template <class Half>
[[gnu::always_inline]] inline void narrow(const float* from, void* to, std::size_t first, std::size_t count) {
    Half* const values = static_cast<Half*>(to) + first;
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) values[i] = from_float<Half>(from[i]);
}

/// Of 16 bits.
ORRERY_CLONED void unpack(Format format, const void* from, std::size_t first, float* to, std::size_t count) {
    format == Format::bf16 ? widen<Bfloat16>(from, first, to, count) : widen<Float16>(from, first, to, count);
}

ORRERY_CLONED void pack(Format format, const float* from, void* to, std::size_t first, std::size_t count) {
    format == Format::bf16 ? narrow<Bfloat16>(from, to, first, count) : narrow<Float16>(from, to, first, count);
}

}  // namespace

void load(Format format, const void* from, std::size_t first, float* to, std::size_t count) {
    if (is_half(format)) return unpack(format, from, first, to, count);
    std::memcpy(to, static_cast<const float*>(from) + first, count * sizeof(float));
}

void store(Format format, const float* from, void* to, std::size_t first, std::size_t count) {
    if (is_half(format)) return pack(format, from, to, first, count);
    std::memcpy(static_cast<float*>(to) + first, from, count * sizeof(float));
}

float* as_floats(Format format, float* memory, std::size_t first, float* scratch, std::size_t count) {
    if (format == Format::fp32) return memory + first;
    load(format, memory, first, scratch, count);
    return scratch;
}

}  // namespace orrery::kernels::cpu
