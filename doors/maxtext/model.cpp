// The models of MaxText: configs/models/*.yml, and the sizes that override them.
#include "doors/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <utility>

#include "doors/convert.hpp"
#include "doors/maxtext/maxtext.hpp"

namespace orrery::doors::maxtext {

namespace {

/// Where MaxText's name and the catalog's differ.
struct Named {
    std::string_view theirs, ours;
};
constexpr std::array named{Named{"llama3-405b", "llama3.1-405b"},
                           Named{"llama3.3-70b", "llama3.1-70b"},
                           Named{"deepseek2-16b", "deepseek-v2-lite"},
                           Named{"deepseek2-236b", "deepseek-v2"},
                           Named{"deepseek3-671b", "deepseek-v3"},
                           Named{"deepseek3-671b-2dfsdp", "deepseek-v3"},
                           Named{"kimi-k2-1t", "kimi-k2"},
                           Named{"llama4-17b-16e", "llama4-scout"},
                           Named{"llama4-17b-128e", "llama4-maverick"}};

std::string in_catalog(const std::string& name) {
    const auto* const row = std::ranges::find(named, name, &Named::theirs);
    std::string ours(row == named.end() ? name : row->ours);
    return is_listed(ours) ? ours : "";
}

/// A size, its key here, and what configs/base.yml has where nothing names a model.
struct Size {
    const char *theirs, *ours;
    std::uint64_t usual;
};
constexpr std::array sizes{Size{"base_emb_dim", "hidden_size", 2048},
                           Size{"base_num_query_heads", "num_attention_heads", 16},
                           Size{"base_num_kv_heads", "num_key_value_heads", 16},
                           Size{"base_mlp_dim", "intermediate_size", 7168},
                           Size{"base_num_decoder_layers", "num_hidden_layers", 16},
                           Size{"head_dim", "head_dim", 128},
                           Size{"vocab_size", "vocab_size", 32'000},
                           Size{"base_moe_mlp_dim", "moe_intermediate_size", 0},
                           Size{"num_experts", "num_experts", 0},
                           Size{"num_experts_per_tok", "num_experts_per_tok", 0},
                           Size{"first_num_dense_layers", "first_k_dense_replace", 0}};

/// A scale of 2^n doubles, in turn, heads and MLP, the width, and layers (configs/types.py, get_individual_scales).
struct Doublings {
    unsigned heads = 0, width = 0, layers = 0;
};
std::optional<Doublings> doublings(const Givens& given, Draft& draft) {
    const Given* const said = given.find("global_parameter_scale");
    if (said == nullptr) return Doublings{};
    const std::uint64_t scale = whole_number(said->value).value_or(0);
    constexpr std::uint64_t most = 1U << 16U;
    if (!std::has_single_bit(scale) || scale > most) {
        draft.findings.refuse(said->origin.place, said->origin.name, "is no power of two", "1, 2, 4, ... 65536");
        return std::nullopt;
    }
    const auto log = static_cast<unsigned>(std::bit_width(scale) - 1);
    return Doublings{log / 3 + (log % 3 > 0 ? 1 : 0), log / 3 + (log % 3 > 1 ? 1 : 0), log / 3};
}

void scale_sizes(const Givens& given, Draft& draft) {
    const auto by = doublings(given, draft);
    if (!by) return;
    for (const auto& [key, times] : {std::pair{"num_attention_heads", by->heads},
                                     {"num_key_value_heads", by->heads},
                                     {"intermediate_size", by->heads},
                                     {"hidden_size", by->width},
                                     {"num_hidden_layers", by->layers}}) {
        const std::string pointer = fmt::format("/model/{}", key);
        if (times > 0)
            draft.set(pointer, draft.whole(pointer, 1) << times, given.find("global_parameter_scale")->origin);
    }
}

void read_sizes(const Givens& given, bool all, Draft& draft) {
    for (const Size& size : sizes) {
        const std::string pointer = fmt::format("/model/{}", size.ours);
        if (const Given* const said = given.find(size.theirs)) {
            if (size.usual > 0 || whole_number(said->value).value_or(2) > 1) set_key(pointer, *said, draft);
        } else if (all && size.usual > 0) {
            draft.set(pointer, size.usual, draft.whole_file());
        }
    }
}

/// Of a decoder that is written out: Llama's and Mistral's, and GPT-3's.
void read_decoder(const Givens& given, Draft& draft) {
    const Given* const said = given.find("decoder_block");
    const std::string block = said == nullptr ? "llama2" : text_of(said->value);
    const Origin origin = said == nullptr ? draft.whole_file() : said->origin;
    constexpr std::array like_llama{"llama2", "llama3", "mistral", "mixtral", "default"};
    if (block == "gpt3")
        draft.set("/model/model_type", "gpt", origin);
    else if (std::ranges::find(like_llama, block) != like_llama.end())
        draft.set("/model/model_type", "llama", origin);
    else
        draft.findings.refuse(origin.place, origin.name, "the layers of this decoder are not known here",
                              "--model CONFIG.json of Hugging Face, or a model_name of `orrery list models`");
}

}  // namespace

void read_model(const Request& request, const Givens& given, Draft& draft) {
    if (!request.model.empty()) return;
    const Given* const name = given.find("model_name");
    const bool unnamed = name == nullptr || text_of(name->value) == "default";
    if (unnamed) {
        read_decoder(given, draft);
        read_sizes(given, true, draft);
        scale_sizes(given, draft);
    } else if (const std::string ours = in_catalog(text_of(name->value)); !ours.empty()) {
        draft.set("/model/name", ours, name->origin);
        if (const Given* const scale = given.find("global_parameter_scale"); scale != nullptr && scale->value != 1)
            draft.findings.not_modelled(scale->origin.place, scale->origin.name, "a named model has its own sizes",
                                        "leave it out");
        read_sizes(given, false, draft);
    } else {
        return draft.findings.refuse(name->origin.place, name->origin.name,
                                     "the sizes of this model are not known here",
                                     "--model CONFIG.json of Hugging Face, or --set model.name=NAME of "
                                     "`orrery list models`");
    }
    if (const Given* const tied = given.find("logits_via_embedding"))
        draft.set("/model/tie_word_embeddings", given.is_on("logits_via_embedding"), tied->origin);
}

}  // namespace orrery::doors::maxtext
