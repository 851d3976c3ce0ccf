// How many tokens published tokenizers know.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery::doors {

/// By a tokenizer's type in Megatron-LM and NeMo ("GPT2BPETokenizer") or its name on Hugging Face; nothing for others.
std::optional<std::uint64_t> tokens_of(std::string_view tokenizer);

}  // namespace orrery::doors
