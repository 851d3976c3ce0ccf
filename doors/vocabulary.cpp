#include "doors/vocabulary.hpp"

#include <array>
#include <string>

#include "base/text.hpp"

namespace orrery::doors {

namespace {

struct Tokenizer {
    std::string_view part;  ///< of its name, in lower case; the first that fits counts
    std::uint64_t tokens;
};

// Published config.json files (vocab_size) and, for Megatron-LM's own types, the vocabularies that they are used with.
constexpr std::array<Tokenizer, 33> known{{{"gpt2bpetokenizer", 50257},
                                           {"bertwordpiecelowercase", 30522},
                                           {"bertwordpiececase", 28996},
                                           {"llama2tokenizer", 32000},
                                           {"llama3tokenizer", 128256},
                                           {"llama2bpetokenizer", 32000},
                                           {"llamatokenizer", 32000},
                                           {"llama-4", 202048},
                                           {"llama-3", 128256},
                                           {"llama3", 128256},
                                           {"llama-2", 32000},
                                           {"llama2", 32000},
                                           {"codellama", 32016},
                                           {"llama-7b", 32000},
                                           {"mixtral-8x22b", 32768},
                                           {"mixtral", 32000},
                                           {"mistral-7b-v0.1", 32000},
                                           {"mistral-7b-instruct-v0.1", 32000},
                                           {"mistral-7b-v0.3", 32768},
                                           {"mistral-nemo", 131072},
                                           {"qwen2.5-0.5b", 151936},
                                           {"qwen2-0.5b", 151936},
                                           {"qwen2.5-1.5b", 151936},
                                           {"qwen2-1.5b", 151936},
                                           {"qwen2.5", 152064},
                                           {"qwen2", 152064},
                                           {"qwen3", 151936},
                                           {"gpt-neox-20b", 50432},
                                           {"bloom", 250880},
                                           {"falcon", 65024},
                                           {"starcoder2", 49152},
                                           {"nemotron-4", 256000},
                                           {"grok-1", 131072}}};

}  // namespace

std::optional<std::uint64_t> tokens_of(std::string_view tokenizer) {
    const std::string words = lower(tokenizer.substr(0, 256));
    if (words == "gpt2") return 50257;
    for (const Tokenizer& each : known)
        if (words.find(each.part) != std::string::npos) return each.tokens;
    return std::nullopt;
}

}  // namespace orrery::doors
