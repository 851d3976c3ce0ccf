// What AddressSanitizer is told: changes of stacks, and memory that nobody may touch. Nothing without it.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define ORRERY_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ORRERY_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef ORRERY_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace orrery::emulated {

struct Stack {
    const void* bottom = nullptr;
    std::size_t bytes = 0;
};

#ifdef ORRERY_ADDRESS_SANITIZER
inline constexpr bool sanitized = true;
inline void start_switch(void** own, Stack to) { __sanitizer_start_switch_fiber(own, to.bottom, to.bytes); }
inline void finish_switch(void* own, Stack* from) {
    __sanitizer_finish_switch_fiber(own, from == nullptr ? nullptr : &from->bottom,
                                    from == nullptr ? nullptr : &from->bytes);
}
inline void forbid(const void* memory, std::size_t bytes) { __asan_poison_memory_region(memory, bytes); }
inline void allow(const void* memory, std::size_t bytes) { __asan_unpoison_memory_region(memory, bytes); }
#else
inline constexpr bool sanitized = false;
inline void start_switch(void**, Stack) {}
inline void finish_switch(void*, Stack*) {}
inline void forbid(const void*, std::size_t) {}
inline void allow(const void*, std::size_t) {}
#endif

}  // namespace orrery::emulated
