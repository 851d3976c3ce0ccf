#include "run/tokens.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/error.hpp"
#include "base/read_file.hpp"

namespace orrery::run {

namespace {

constexpr std::uint64_t most_text_bytes = std::uint64_t{1} << 30U;

/// A number in [0, vocab), small ones far more often: the cube of a uniform number.
std::uint64_t skewed(std::mt19937_64& random, std::uint64_t vocab) {
    const double u = static_cast<double>(random() >> 11U) * 0x1.0p-53;
    return static_cast<std::uint64_t>(static_cast<double>(vocab) * u * u * u);
}

}  // namespace

Tokens::Tokens(const std::string& file, std::uint64_t vocab, std::uint64_t seq, std::uint64_t seed)
    : vocab_(vocab), seq_(seq), seed_(seed) {
    if (file.empty()) return;
    for (const char c : read_file(file, "name a text to train on", most_text_bytes))
        text_.push_back(static_cast<unsigned char>(c));
    if (text_.size() < seq + 1)
        throw Error(file, "",
                    std::to_string(text_.size()) + " bytes are fewer than a sequence of " + std::to_string(seq) +
                        " tokens and its last target",
                    "take a longer text or a shorter seq_length");
    const std::int32_t largest = *std::max_element(text_.begin(), text_.end());
    if (static_cast<std::uint64_t>(largest) >= vocab)
        throw Error(file, "",
                    "byte " + std::to_string(largest) + " lies outside a vocabulary of " + std::to_string(vocab),
                    "a byte-level vocabulary needs 256 entries");
}

std::vector<std::int32_t> Tokens::sequence(std::uint64_t step, std::uint64_t sample) const {
    std::seed_seq words{static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32U),
                        static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(sample)};
    std::mt19937_64 random(words);
    if (!text_.empty()) {
        const auto first = text_.begin() + static_cast<std::ptrdiff_t>(random() % (text_.size() - seq_));
        return {first, first + static_cast<std::ptrdiff_t>(seq_ + 1)};
    }
    std::vector<std::int32_t> sequence{static_cast<std::int32_t>(skewed(random, vocab_))};
    while (sequence.size() < seq_ + 1) {
        const auto before = static_cast<std::uint64_t>(sequence.back());
        const bool decided = random() % 4 != 0;
        sequence.push_back(static_cast<std::int32_t>(decided ? (before * 5 + 3) % vocab_ : skewed(random, vocab_)));
    }
    return sequence;
}

}  // namespace orrery::run
