// What a model is trained on: the same sequences on every mesh.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::run {

/// Sequences by their place in training: a function of the seed, the step and the sample's number in the global batch.
class Tokens {
public:
    /// file: read byte by byte; empty: synthetic tokens, rare and frequent ones, each mostly decided by the one before.
    /// Throws Error for a file that cannot be read, is shorter than a sequence, or has bytes beyond the vocabulary.
    Tokens(const std::string& file, std::uint64_t vocab, std::uint64_t seq, std::uint64_t seed);

    /// seq + 1 tokens: inputs, and shifted by one the targets.
    [[nodiscard]] std::vector<std::int32_t> sequence(std::uint64_t step, std::uint64_t sample) const;

private:
    std::vector<std::int32_t> text_;
    std::uint64_t vocab_, seq_, seed_;
};

}  // namespace orrery::run
