// Numbers of one format in device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernel.hpp"

namespace orrery::run {

/// A flat array; memory may be null while addresses are not known yet.
struct Elements {
    void* memory = nullptr;
    kernels::Dtype dtype = kernels::Dtype::fp32;

    [[nodiscard]] std::uint64_t bytes(std::uint64_t count) const { return count * kernels::size_of(dtype); }
    [[nodiscard]] void* at(std::uint64_t element) const {
        return memory == nullptr ? nullptr : static_cast<std::byte*>(memory) + bytes(element);
    }
};

}  // namespace orrery::run
