#include "kernels/cpu/half.hpp"

#include <cstring>

#include "kernels/cpu/clones.hpp"

namespace orrery::kernels::cpu {

ORRERY_CLONED void unpack(const Bfloat16* from, float* to, std::size_t count) {
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) to[i] = to_float(from[i]);
}

ORRERY_CLONED void pack(const float* from, Bfloat16* to, std::size_t count) {
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) to[i] = to_bfloat16(from[i]);
}

ORRERY_CLONED void unpack(const Float16* from, float* to, std::size_t count) {
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) to[i] = to_float(from[i]);
}

ORRERY_CLONED void pack(const float* from, Float16* to, std::size_t count) {
#pragma omp simd
    for (std::size_t i = 0; i < count; ++i) to[i] = to_float16(from[i]);
}

void load(Format format, const void* from, std::size_t first, float* to, std::size_t count) {
    if (format == Format::bf16) return unpack(static_cast<const Bfloat16*>(from) + first, to, count);
    if (format == Format::fp16) return unpack(static_cast<const Float16*>(from) + first, to, count);
    std::memcpy(to, static_cast<const float*>(from) + first, count * sizeof(float));
}

void store(Format format, const float* from, void* to, std::size_t first, std::size_t count) {
    if (format == Format::bf16) return pack(from, static_cast<Bfloat16*>(to) + first, count);
    if (format == Format::fp16) return pack(from, static_cast<Float16*>(to) + first, count);
    std::memcpy(static_cast<float*>(to) + first, from, count * sizeof(float));
}

float* as_floats(Format format, float* memory, std::size_t first, float* scratch, std::size_t count) {
    if (format == Format::fp32) return memory + first;
    load(format, memory, first, scratch, count);
    return scratch;
}

}  // namespace orrery::kernels::cpu
