// The model: its widths, positions, vocabulary and experts.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <regex>

#include "doors/convert.hpp"
#include "doors/dropout.hpp"
#include "doors/megatron/rules.hpp"
#include "doors/vocabulary.hpp"
#include "models/layer_frequency.hpp"

namespace orrery::doors::megatron {

namespace {

bool is_bert(const Draft& draft) { return draft.find("/model/model_type") != nullptr; }

void read_heads(const Givens& given, Draft& draft) {
    const Given* const groups = given.find("num_query_groups");
    const Given* const grouped = given.find("group_query_attention");
    if (grouped == nullptr) {
        if (groups != nullptr) draft.findings.harmless(groups->origin.place, groups->origin.name);
    } else if (groups != nullptr) {
        set_key("/model/num_key_value_heads", *groups, draft);
    } else {
        draft.set("/model/num_key_value_heads", 1, grouped->origin);
    }
}

/// The flag of the other activation says nothing.
void read_activation(const Givens& given, Draft& draft) {
    const bool gated = given.is_on("swiglu");
    const Given* const squared = given.find("squared_relu");  // compiled, whatever the flags say of its bias
    if (squared != nullptr) draft.set("/model/hidden_act", "relu2", squared->origin);
    for (const bool of_gated : {false, true}) {
        const Given* const off = given.find(of_gated ? "no_bias_swiglu_fusion" : "no_bias_gelu_fusion");
        if (off == nullptr) continue;
        if (of_gated == gated && squared == nullptr)
            draft.set("/training/bias_activation_fusion", false, off->origin);
        else
            draft.findings.harmless(off->origin.place, off->origin.name);
    }
}

void read_mlp(const Givens& given, Draft& draft) {
    read_activation(given, draft);
    const Given* const swiglu = given.find("swiglu");
    if (swiglu == nullptr) return;
    draft.set("/model/swiglu", true, swiglu->origin);
    // Two thirds of the usual width, in whole tiles: what three matrices cost as much as two.
    constexpr std::uint64_t tile = 64;
    if (const std::uint64_t hidden = draft.whole("/model/hidden_size", 0); hidden > 0)
        draft.set_default("/model/intermediate_size", std::max(tile, 4 * hidden * 2 / 3 / tile * tile), swiglu->origin);
}

void read_positions(const Givens& given, Draft& draft) {
    std::string type = given.text("position_embedding_type");
    const Given* said = given.find("position_embedding_type");
    if (const Given* const rotary = given.find("use_rotary_position_embeddings")) {
        type = "rope";
        said = rotary;
    } else if (const Given* const none = given.find("no_position_embedding"); none != nullptr && type != "rope") {
        type = "none";
        said = none;
    }
    if (type == "yarn" || type == "mrope" || type == "rotary") type = "rope";
    if (type.empty()) type = "learned_absolute";
    const Origin origin = said == nullptr ? draft.whole_file() : said->origin;
    set_key("/model/position_embedding_type", {"position_embedding_type", type, origin}, draft);
    const Given* const table = given.find("max_position_embeddings");
    if (type != "learned_absolute") {
        if (table != nullptr) draft.findings.harmless(table->origin.place, table->origin.name);
    } else if (table != nullptr) {
        set_key("/model/max_position_embeddings", *table, draft);
    } else {
        draft.want("/model/max_position_embeddings", origin, "--max-position-embeddings is not given",
                   "--set model.max_position_embeddings=N: learned positions need the number of their rows");
    }
}

void read_biases(const Givens& given, Draft& draft) {
    if (const Given* const none = given.find("disable_bias_linear")) {
        draft.set("/model/add_bias_linear", false, none->origin);
        draft.set("/model/add_qkv_bias", given.is_on("add_qkv_bias"), none->origin);
    }
}

/// 1 of several lists of experts ("64" or "32 32 64 64"): only equal ones are one model here.
void read_number_of_experts(const Given& experts, Draft& draft) {
    std::string text = text_of(experts.value);
    const std::string first = text.substr(0, text.find(' '));
    for (std::string rest = text; !rest.empty();) {
        const std::size_t blank = rest.find(' ');
        if (rest.substr(0, blank) != first)
            return draft.findings.refuse(experts.origin.place, experts.origin.name,
                                         "layers of different numbers of experts are not modelled yet",
                                         "give one number");
        rest = blank == std::string::npos ? "" : rest.substr(blank + 1);
    }
    if (first != "1") set_key("/model/num_experts", {experts.name, first, experts.origin}, draft);
}

/// A number, or a Python list such as ([0]*1+[1]*26) in which 0 is a layer without experts.
void read_layer_frequency(const Given& frequency, Draft& draft) {
    const std::string text = text_of(frequency.value);
    if (text.find('[') == std::string::npos) return set_key("/model/moe_layer_freq", frequency, draft);
    if (text.find('0') == std::string::npos || text.find("[0") == std::string::npos)
        return draft.set("/model/moe_layer_freq", 1, frequency.origin);
    if (const auto dense = models::first_dense_layers(text)) {
        draft.set("/model/moe_layer_freq", 1, frequency.origin);
        return draft.set("/model/first_k_dense_replace", *dense, frequency.origin);
    }
    draft.findings.refuse(frequency.origin.place, frequency.origin.name,
                          "layers without experts among those with them are modelled at even distances alone",
                          "give the distance as one number");
}

/// Latent attention, with Megatron-LM's defaults of its widths (arguments.py, multi-latent attention).
void read_latent_attention(const Givens& given, Draft& draft) {
    const Given* const on = given.find("multi_latent_attention");
    if (on == nullptr) return;
    const auto width = [&](const char* name, std::uint64_t otherwise) {
        const Given* const said = given.find(name);
        const auto value = said == nullptr ? std::optional(otherwise) : whole_of(*said, draft);
        return value.value_or(otherwise);
    };
    const std::uint64_t rotated = width("qk_pos_emb_head_dim", 64);
    draft.set("/model/kv_lora_rank", width("kv_lora_rank", 32), on->origin);
    draft.set("/model/q_lora_rank", width("q_lora_rank", 0), on->origin);
    draft.set("/model/qk_rope_head_dim", rotated, on->origin);
    draft.set("/model/v_head_dim", width("v_head_dim", 128), on->origin);
    draft.set("/model/head_dim", width("qk_head_dim", 128) + rotated, on->origin);
    draft.erase("/model/qk_layernorm");  // there the flag is that of the norms of what is latent
}

/// "127,0" or "(127, 0)": so many tokens before a query's own.
void read_window(const Givens& given, Draft& draft) {
    const Given* const size = given.find("window_size");
    if (size == nullptr) return;
    const std::string text =
        size->value.is_array() && !size->value.empty() ? text_of(size->value.front()) : text_of(size->value);
    static const std::regex first(R"(\(?(\d{1,7})\b.*)");
    std::smatch found;
    if (!std::regex_match(text, found, first) || std::stoul(found[1].str()) == 0)
        return draft.findings.refuse(size->origin.place, size->origin.name, "is no window", "as in 127,0");
    draft.set("/model/sliding_window", std::stoul(found[1].str()) + 1, size->origin);
    if (const Given* const every = given.find("window_attn_skip_freq"))
        set_key("/model/sliding_window_pattern", *every, draft);
}

/// Megatron-LM gathers all tokens unless told otherwise; DeepSpeed's layers exchange them.
void read_dispatcher(const Givens& given, Draft& draft) {
    const Given* const said = given.find("moe_token_dispatcher_type");
    const std::string name = said == nullptr ? "allgather" : text_of(said->value);
    if (name == "allgather" && !given.is_on("deepspeed")) {
        const Origin origin = said == nullptr ? given.find("num_experts")->origin : said->origin;
        return draft.set("/strategy/moe_token_dispatcher_type", "allgather", origin);
    }
    if (name == "flex")
        draft.set("/strategy/moe_token_dispatcher_type", "flex", said->origin);
    else if (name != "alltoall" && said != nullptr)
        draft.findings.not_modelled(said->origin.place, said->origin.name, "the dispatcher is timed as alltoall",
                                    "compare with a measurement before you rely on the difference");
}

/// Megatron-DeepSpeed's experts: one a token, in every second layer, with a capacity.
void read_deepspeed_experts(const Givens& given, Draft& draft) {
    const Origin origin = given.find("num_experts")->origin;
    draft.set_default("/model/num_experts_per_tok", 1, origin);
    if (const Given* const top = given.find("topk")) set_key("/model/num_experts_per_tok", *top, draft);
    draft.set_default("/model/moe_layer_freq", 2, origin);
    if (const Given* const interval = given.find("expert_interval")) set_key("/model/moe_layer_freq", *interval, draft);
    if (const Given* const ranks = given.find("moe_expert_parallel_size")) set_key("/strategy/expert", *ranks, draft);
    if (given.find("disable_moe_token_dropping") != nullptr) return;
    draft.set_default("/training/moe_expert_capacity_factor", 1.0, origin);
    if (const Given* const capacity = given.find("moe_train_capacity_factor"))
        set_key("/training/moe_expert_capacity_factor", *capacity, draft);
    draft.set_default("/training/moe_pad_expert_input_to_capacity", true, origin);
}

std::optional<std::uint64_t> known_tokens(const Givens& given, const Draft& draft) {
    for (const char* name : {"tokenizer_model", "tokenizer_name_or_path", "tokenizer_type", "patch_tokenizer_type"})
        if (const auto tokens = tokens_of(given.text(name))) return tokens;
    if (given.find_any({"tokenizer_type", "tokenizer_model", "tokenizer_name_or_path", "patch_tokenizer_type"}) !=
        nullptr)
        return std::nullopt;
    return tokens_of(is_bert(draft) ? "BertWordPieceLowerCase" : "GPT2BPETokenizer");
}

}  // namespace

void read_model(const Givens& given, Draft& draft) {
    if (const Given* const layers = given.find_any({"encoder_num_layers", "decoder_num_layers"}))
        if (draft.find("/model/num_hidden_layers") == nullptr) set_key("/model/num_hidden_layers", *layers, draft);
    if (is_bert(draft)) {  // Megatron-LM's has its norms before the branches (Shoeybi et al. 2019)
        draft.set("/model/post_norm", false, draft.whole_file());
        draft.set("/model/embed_layernorm", false, draft.whole_file());
    }
    read_heads(given, draft);
    read_mlp(given, draft);
    read_positions(given, draft);
    read_biases(given, draft);
    read_dropout(given, "hidden_dropout", "attention_dropout", draft);
    read_latent_attention(given, draft);
    read_window(given, draft);
    for (const char* key : {"num_hidden_layers", "hidden_size", "num_attention_heads"})
        draft.want(fmt::format("/model/{}", key), draft.whole_file(), fmt::format("the model's {} is not given", key),
                   fmt::format("give it, with --set model.{}=N for one", key));
}

void read_vocabulary(const Givens& given, Draft& draft) {
    constexpr const char* pointer = "/model/vocab_size";
    constexpr const char* remedy = "--set model.vocab_size=N";
    if (const Given* const padded = given.find_any({"padded_vocab_size", "pad_vocab_size_to"}))
        return set_key(pointer, *padded, draft);
    const Given* const stated = given.find("vocab_size");
    const Given* const tokenizer =
        given.find_any({"tokenizer_model", "tokenizer_name_or_path", "tokenizer_type", "patch_tokenizer_type"});
    const Origin origin = stated != nullptr      ? stated->origin
                          : tokenizer != nullptr ? tokenizer->origin
                                                 : draft.whole_file();
    std::optional<std::uint64_t> tokens = stated != nullptr ? whole_number(stated->value) : known_tokens(given, draft);
    if (!tokens && stated != nullptr) return set_key(pointer, *stated, draft);
    if (!tokens)
        return draft.want(pointer, origin, "the size of this tokenizer's vocabulary is not known here", remedy);
    if (stated != nullptr && given.text("tokenizer_type") == "NullTokenizer") ++*tokens;  // its end of document
    if (const Given* const extra = given.find("extra_vocab_size"))  // Pai-Megatron-Patch adds them to the tokenizer's
        *tokens += std::min<std::uint64_t>(whole_number(extra->value).value_or(0), 1U << 24U);
    set_key(pointer, {"vocab_size", *tokens, origin}, draft);
}

void read_experts(const Givens& given, Draft& draft) {
    if (const Given* const experts = given.find("num_experts")) read_number_of_experts(*experts, draft);
    if (draft.whole("/model/num_experts", 0) == 0) {
        // Megatron-LM reads none of these in a dense model.
        for (const char* key :
             {"/model/num_experts_per_tok", "/model/n_group", "/model/topk_group", "/model/moe_latent_size",
              "/model/moe_intermediate_size", "/model/moe_shared_expert_intermediate_size", "/strategy/expert_tensor",
              "/training/moe_expert_capacity_factor", "/training/moe_pad_expert_input_to_capacity",
              "/training/moe_permute_fusion", "/training/moe_router_fusion",
              "/strategy/overlap_moe_expert_parallel_comm"})
            draft.erase(key);
        return;
    }
    if (const Given* const frequency = given.find("moe_layer_freq")) read_layer_frequency(*frequency, draft);
    read_dispatcher(given, draft);
    for (const char* key : {"/training/moe_permute_fusion", "/training/moe_router_fusion"})  // switches there
        draft.set_default(key, false, given.find("num_experts")->origin);
    if (given.is_on("deepspeed")) read_deepspeed_experts(given, draft);
}

}  // namespace orrery::doors::megatron
