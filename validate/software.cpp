#include "validate/software.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <regex>

namespace orrery::validate {

namespace {

/// Every text of "source" (repository, path, paper, address), lower case, and "source" itself when it is a text.
std::string source_words(const Row& row) {
    const nlohmann::json* source = row.find("source");
    if (source == nullptr) return "";
    if (source->is_string()) return row.words("source");
    if (!source->is_object()) throw Skip("field of a wrong type: source");
    std::string words;
    for (const auto& [key, value] : source->items())
        if (value.is_string()) words += fmt::format(" {}", lower(value.get_ref<const std::string&>().substr(0, 400)));
    return words;
}

/// A year up to 2021, "SC'21", or an arXiv number before FlashAttention's (2205.14135).
bool before_flash_attention(const std::string& words) {
    static const std::regex old(R"(\b20(1\d|2[01])\b|'2[01]\b|abs/(1\d|2[01])\d\d\.|abs/220[1-4]\.)");
    return std::regex_search(words, old);
}

bool any_of(const std::string& words, std::initializer_list<const char*> candidates) {
    for (const char* word : candidates)
        if (contains(words, word)) return true;
    return false;
}

Software megatron_of(const Row& row, const std::string& words) {
    const std::string gpu = row.words("gpu");
    const bool old_gpu = contains(gpu, "v100") || contains(gpu, "p100");
    return old_gpu || before_flash_attention(words) ? Software::megatron_2021 : Software::megatron_core;
}

Software from_words(const Row& row, const std::string& words, const std::string& dated) {
    if (any_of(words, {"maxtext", "paxml", "jax"})) return Software::jax;
    if (any_of(words, {"nemo", "megatron-bridge", "megatron bridge"})) return Software::nemo;
    if (any_of(words, {"deepspeed", "meg-ds"})) return Software::megatron_deepspeed;
    if (any_of(words, {"megatron", "gpt2-meg"})) return megatron_of(row, dated);
    if (any_of(words, {"torch", "tensorflow", "mxnet", "paddle", "oneflow", "horovod"})) return Software::data_parallel;
    return Software::other;
}

}  // namespace

Software software_of(const Row& row) {
    const std::string framework = row.words("switches.framework"), source = source_words(row);
    const std::string dated = fmt::format("{} {}", framework, source);
    const Software named = from_words(row, framework, dated);
    return named == Software::other ? from_words(row, source, dated) : named;
}

}  // namespace orrery::validate
