#include "run/images.hpp"

#include <random>

namespace orrery::run {

namespace {

constexpr std::uint64_t colours = 3;

std::mt19937_64 generator(std::uint64_t seed, std::uint64_t what, std::uint64_t number) {
    std::seed_seq words{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U),
                        static_cast<std::uint32_t>(what), static_cast<std::uint32_t>(number)};
    return std::mt19937_64(words);
}

/// Uniform in (-1, 1).
float draw(std::mt19937_64& random) { return static_cast<float>(static_cast<double>(random() >> 11U) * 0x1.0p-52 - 1); }

/// No step has such a number.
constexpr std::uint64_t of_patterns = ~std::uint64_t{0};

}  // namespace

Images::Images(const models::ModelSpec& spec, std::uint64_t seed)
    : classes_(spec.vocab), numbers_(colours * spec.image.size * spec.image.size), seed_(seed) {}

Images::Example Images::example(std::uint64_t step, std::uint64_t sample) const {
    std::mt19937_64 noise = generator(seed_, step, sample);
    Example example{{}, static_cast<std::int32_t>(noise() % classes_)};
    std::mt19937_64 pattern = generator(seed_, of_patterns, static_cast<std::uint64_t>(example.label));
    example.pixels.reserve(numbers_);
    for (std::uint64_t i = 0; i < numbers_; ++i) example.pixels.push_back(draw(pattern) + draw(noise));
    return example;
}

}  // namespace orrery::run
