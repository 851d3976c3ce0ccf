// What products in fp8 read of a rank's weights, beside these: each weight in both orders, and what its elements are
// multiplied by. The program's "cast weights" write it.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "run/owned_memory.hpp"

namespace orrery::run {

class NarrowWeights {
public:
    /// So many elements of a layer's weight, by its index in LayerFlow::parameters.
    void add(std::int32_t layer, std::uint32_t parameter, std::uint64_t elements);
    /// Behind the last of them.
    void allocate(kernels::Device& device);

    struct Weight {
        void* as_is;   ///< fp8 [rows, cols]
        void* turned;  ///< fp8 [cols, rows]
        float* scale;  ///< [1]
    };
    /// Throws std::out_of_range for one that was not added.
    [[nodiscard]] Weight at(std::int32_t layer, std::uint32_t parameter) const;
    [[nodiscard]] std::uint64_t bytes() const { return 2 * elements_ + places_.size() * scale_bytes; }

private:
    static constexpr std::uint64_t scale_bytes = 16;  ///< every operand begins at a multiple (kernels/device.hpp)
    struct Place {
        std::uint64_t first;   ///< element, of all weights one behind the other
        std::uint64_t number;  ///< of the weight
    };
    std::map<std::pair<std::int32_t, std::uint32_t>, Place> places_;
    std::uint64_t elements_ = 0;
    DeviceMemory as_is_, turned_, scales_;
};

}  // namespace orrery::run
