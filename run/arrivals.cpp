#include "run/arrivals.hpp"

#include "kernels/device.hpp"

namespace orrery::run {

void Arrivals::begin() {
    for (std::size_t item = 0; item < count_; ++item) states_[item].store(pending, std::memory_order_relaxed);
}

void Arrivals::tell(std::uint32_t item, State state) {
    states_[item].store(state, std::memory_order_release);
    states_[item].notify_all();
}

void Arrivals::await(std::uint32_t item) {
    states_[item].wait(pending, std::memory_order_acquire);
    if (states_[item].load(std::memory_order_acquire) == failed)
        throw kernels::DeviceError("an operation of another lane failed", "see what that one said");
}

void Arrivals::fail() {
    for (std::uint32_t item = 0; item < count_; ++item)
        if (states_[item].load(std::memory_order_relaxed) == pending) tell(item, failed);
}

}  // namespace orrery::run
