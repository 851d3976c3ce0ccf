// Random numbers that are the same on every machine and with every library: splitmix64.
#pragma once

#include <cmath>
#include <cstdint>

namespace orrery {

/// One step of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014; as Sebastiano
/// Vigna writes it): a bijection whose outputs pass for chance even on consecutive numbers.
constexpr std::uint64_t mixed(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15U;
    value = (value ^ value >> 30U) * 0xbf58476d1ce4e5b9U;
    value = (value ^ value >> 27U) * 0x94d049bb133111ebU;
    return value ^ value >> 31U;
}

/// In (0, 1]: 53 bits of it.
constexpr double unit(std::uint64_t bits) { return static_cast<double>((bits >> 11U) + 1) * 0x1p-53; }

/// One number after the other.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(mixed(seed)) {}
    /// In (0, 1].
    double uniform() {
        state_ += 0x9e3779b97f4a7c15U;
        return unit(mixed(state_));
    }
    /// Of an exponential distribution with this mean.
    double exponential(double mean) { return -mean * std::log(uniform()); }

private:
    std::uint64_t state_;
};

}  // namespace orrery
