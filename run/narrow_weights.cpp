#include "run/narrow_weights.hpp"

namespace orrery::run {

void NarrowWeights::add(std::int32_t layer, std::uint32_t parameter, std::uint64_t elements) {
    if (places_.try_emplace({layer, parameter}, Place{elements_, places_.size()}).second) elements_ += elements;
}

void NarrowWeights::allocate(kernels::Device& device) {
    if (places_.empty()) return;
    as_is_ = DeviceMemory(device, elements_);
    turned_ = DeviceMemory(device, elements_);
    scales_ = DeviceMemory(device, places_.size() * scale_bytes);
}

NarrowWeights::Weight NarrowWeights::at(std::int32_t layer, std::uint32_t parameter) const {
    const auto [first, number] = places_.at({layer, parameter});
    return {as_is_.as<std::byte>() + first, turned_.as<std::byte>() + first,
            reinterpret_cast<float*>(scales_.as<std::byte>() + number * scale_bytes)};
}

}  // namespace orrery::run
