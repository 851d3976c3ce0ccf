// How many tokens published tokenizers know, and how a vocabulary is padded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery::doors {

/// By a tokenizer's type in Megatron-LM and NeMo ("GPT2BPETokenizer") or its name on Hugging Face; nothing for others.
std::optional<std::uint64_t> tokens_of(std::string_view tokenizer);

/// The vocabulary that a scenario states so that its model has as many rows as one that is padded to a multiple of
/// `divisor` x tensor: a scenario's own padding is to 128 x tensor.
std::uint64_t padded_vocabulary(std::uint64_t tokens, std::uint64_t divisor, std::uint64_t tensor);

}  // namespace orrery::doors
