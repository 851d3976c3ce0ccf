// Draws that every standard library makes alike (its distributions differ between implementations).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <random>

namespace orrery::scenarios {

class Dice {
public:
    explicit Dice(std::mt19937_64& random) : random_(random) {}

    std::uint32_t between(std::uint32_t low, std::uint32_t high) {
        return low + static_cast<std::uint32_t>(random_() % (high - low + 1));
    }
    bool coin() { return random_() % 2 == 0; }
    template <class T>
    T one_of(std::initializer_list<T> values) {
        return *std::next(values.begin(), between(0, static_cast<std::uint32_t>(values.size()) - 1));
    }

private:
    std::mt19937_64& random_;
};

}  // namespace orrery::scenarios
