#include "scenarios/keys.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "strategies/schedule/schedule.hpp"
#include "strategies/sharding.hpp"

namespace orrery::scenarios {

namespace {

using enum Place;
using enum Kind;

// Bounds only keep sizes inside what 64-bit byte counts and 32-bit kernel shapes can hold; they lie far beyond
// any published run.
constexpr double max_parallel = 65536;  // ranks along one axis
constexpr double max_batch = 1 << 24;   // sequences
constexpr double max_seq = 1 << 22;     // tokens
constexpr double max_layers = 8192;
constexpr double max_width = 1 << 20;  // hidden, ffn
constexpr double max_heads = 4096;
constexpr double max_vocab = 1 << 24;
constexpr double max_experts = 65536;
constexpr double max_exact = 9007199254740991;  // 2^53 - 1: every JSON reader keeps it exactly

constexpr std::array<std::string_view, 3> families{"gpt", "llama", "bert"};
constexpr std::array<std::string_view, 4> norms{"layernorm", "LayerNorm", "rmsnorm", "RMSNorm"};
constexpr std::array<std::string_view, 6> positions{"learned", "learned_absolute", "absolute", "rope", "alibi", "none"};
constexpr std::array<std::string_view, 3> recomputes{"none", "selective", "full"};
constexpr std::array<std::string_view, 5> precisions{"fp32", "tf32", "fp16", "bf16", "fp8"};
constexpr std::array<std::string_view, 3> reduce_precisions{"fp32", "fp16", "bf16"};
constexpr std::array<std::string_view, 5> routings{"minimal", "ecmp", "spray", "adaptive", "rails"};
constexpr std::array<std::string_view, 1> optimizers{"adam"};

constexpr std::array key_table{
    Key{document, "$schema", text},
    Key{document, "name", text},
    Key{document, "description", text},
    Key{document, "model", object, 0, 0, {}, true},
    Key{document, "cluster", object, 0, 0, {}, true},
    Key{document, "strategy", object},
    Key{document, "training", object, 0, 0, {}, true},
    Key{document, "profile", named_texts},
    Key{document, "seed", integer, 0, max_exact},
    Key{document, "outputs", object},
    Key{document, "perturbations", object},
    Key{document, "other_jobs", objects},

    Key{model, "name", text},
    Key{model, "hugging_face", text},
    Key{model, "model_type", choice, 0, 0, families},
    Key{model, "num_hidden_layers", integer, 1, max_layers},
    Key{model, "hidden_size", integer, 1, max_width},
    Key{model, "num_attention_heads", integer, 1, max_heads},
    Key{model, "num_key_value_heads", integer, 1, max_heads},
    Key{model, "head_dim", integer, 1, max_width},
    Key{model, "intermediate_size", integer, 1, max_width},
    Key{model, "vocab_size", integer, 1, max_vocab},
    Key{model, "max_position_embeddings", integer, 1, max_seq},
    Key{model, "type_vocab_size", integer, 0, max_vocab},
    Key{model, "sliding_window", integer, 0, max_seq},
    Key{model, "num_experts", integer, 0, max_experts},
    Key{model, "num_experts_per_tok", integer, 0, max_experts},
    Key{model, "moe_intermediate_size", integer, 0, max_width},
    Key{model, "moe_shared_expert_intermediate_size", integer, 0, max_width},
    Key{model, "moe_layer_freq", integer, 0, max_layers},
    Key{model, "swiglu", boolean},
    Key{model, "causal", boolean},
    Key{model, "tie_word_embeddings", boolean},
    Key{model, "add_bias_linear", boolean},
    Key{model, "add_qkv_bias", boolean},
    Key{model, "use_parallel_residual", boolean},
    Key{model, "post_norm", boolean},
    Key{model, "mlm_head", boolean},
    Key{model, "embed_layernorm", boolean},
    Key{model, "qk_layernorm", boolean},
    Key{model, "normalization", choice, 0, 0, norms},
    Key{model, "position_embedding_type", choice, 0, 0, positions},

    Key{cluster, "preset", text, 0, 0, {}, true},
    Key{cluster, "nodes", integer, 1, 131072},
    Key{cluster, "gpu", text},
    Key{cluster, "gpus_per_node", integer, 1, 1024},
    Key{cluster, "nics_per_node", integer, 1, 1024},
    Key{cluster, "nic_rate", rate, 1e6, 1e13},
    Key{cluster, "oversubscription", number, 1, 1000},
    Key{cluster, "switch_ports", integer, 2, 1024},
    Key{cluster, "fabric", text},
    Key{cluster, "shape", text},
    Key{cluster, "parents", text},
    Key{cluster, "terminals", integer, 1, 4096},
    Key{cluster, "routers", integer, 1, 512},
    Key{cluster, "spines", integer, 1, 512},
    Key{cluster, "global_links", integer, 1, 512},
    Key{cluster, "groups", integer, 1, 262145},
    Key{cluster, "link_rate", rate, 1e6, 1e13},
    Key{cluster, "node_file", text},
    Key{cluster, "fabric_file", text},
    Key{cluster, "more_nodes", texts},
    Key{cluster, "routing", choice, 0, 0, routings},
    Key{cluster, "routing_seed", integer, 0, max_exact},
    Key{cluster, "failed", texts},

    Key{strategy, "tensor", integer, 1, max_parallel},
    Key{strategy, "pipeline", integer, 1, max_layers},
    Key{strategy, "virtual_pipeline", integer, 1, max_layers},
    Key{strategy, "data", integer, 1, 1 << 20},
    Key{strategy, "expert", integer, 1, max_parallel},
    Key{strategy, "expert_tensor", integer, 1, max_parallel},
    Key{strategy, "sequence_parallel", boolean},
    Key{strategy, "schedule", choice, 0, 0, strategies::schedule_names},
    Key{strategy, "sharding", choice, 0, 0, strategies::sharding_names},
    Key{strategy, "recompute", choice, 0, 0, recomputes},
    Key{strategy, "recompute_num_layers", integer, 0, max_layers},
    Key{strategy, "cpu_offloading_num_layers", integer, 0, max_layers},
    Key{strategy, "overlap_grad_reduce", boolean},
    Key{strategy, "overlap_param_gather", boolean},
    Key{strategy, "overlap_p2p", boolean},
    Key{strategy, "scatter_gather", boolean},
    Key{strategy, "async_tensor_allreduce", boolean},
    Key{strategy, "bucket_size", bytes, 1e6, 1e12},
    Key{strategy, "placement", text},
    Key{strategy, "placement_file", text},

    Key{training, "seq_length", integer, 1, max_seq, {}, true},
    Key{training, "micro_batch_size", integer, 1, max_batch},
    Key{training, "global_batch_size", integer, 1, max_batch, {}, true},
    Key{training, "precision", choice, 0, 0, precisions},
    Key{training, "grad_reduce_precision", choice, 0, 0, reduce_precisions},
    Key{training, "fused_attention", boolean},
    Key{training, "gradient_accumulation_fusion", boolean},
    Key{training, "cuda_graph", boolean},
    Key{training, "clip_grad", number, 0, 1e9},
    Key{training, "dropout", number, 0, 0.99},
    Key{training, "moe_expert_capacity_factor", number, 0, 1000},
    Key{training, "moe_pad_expert_input_to_capacity", boolean},
    Key{training, "optimizer", choice, 0, 0, optimizers},

    Key{outputs, "token_budget", tokens, 1, 1e18},

    Key{perturbations, "stragglers", texts},
    Key{perturbations, "slow_links", texts},
    Key{perturbations, "jitter", number, 0, 1},
    Key{perturbations, "background", texts},
    Key{perturbations, "expert_imbalance", number, 1, 1000},
    Key{perturbations, "expert_loads", texts},

    Key{other_job, "scenario", text, 0, 0, {}, true},
    Key{other_job, "set", texts},
    Key{other_job, "first_gpu", integer, 0, (1 << 27) - 1},
    Key{other_job, "starts_at", text},
};

constexpr std::array alias_table{
    // Megatron-LM
    Alias{model, "num_layers", "num_hidden_layers"},
    Alias{model, "num_query_groups", "num_key_value_heads"},
    Alias{model, "kv_channels", "head_dim"},
    Alias{model, "ffn_hidden_size", "intermediate_size"},
    Alias{model, "moe_router_topk", "num_experts_per_tok"},
    Alias{model, "moe_ffn_hidden_size", "moe_intermediate_size"},
    Alias{model, "untie_embeddings_and_output_weights", "tie_word_embeddings", "false", "true"},
    Alias{model, "disable_bias_linear", "add_bias_linear", "false", "true"},
    Alias{strategy, "tensor_model_parallel_size", "tensor"},
    Alias{strategy, "pipeline_model_parallel_size", "pipeline"},
    Alias{strategy, "virtual_pipeline_model_parallel_size", "virtual_pipeline"},
    Alias{strategy, "data_parallel_size", "data"},
    Alias{strategy, "expert_model_parallel_size", "expert"},
    Alias{strategy, "expert_tensor_parallel_size", "expert_tensor"},
    Alias{strategy, "use_distributed_optimizer", "sharding", "\"zero1\"", "\"none\""},
    Alias{strategy, "recompute_granularity", "recompute"},
    Alias{strategy, "overlap_p2p_communication", "overlap_p2p"},
    Alias{strategy, "scatter_gather_tensors_in_pipeline", "scatter_gather"},
    Alias{strategy, "use_tp_pp_dp_mapping", "placement", "\"tp-cp-ep-pp-dp\"", ""},
    Alias{training, "fp16", "precision", "\"fp16\"", ""},
    Alias{training, "bf16", "precision", "\"bf16\"", ""},
    Alias{training, "accumulate_allreduce_grads_in_fp32", "grad_reduce_precision", "\"fp32\"", ""},
    Alias{training, "use_flash_attn", "fused_attention"},
    Alias{training, "enable_cuda_graph", "cuda_graph"},
    Alias{training, "hidden_dropout", "dropout"},
    // Hugging Face, Mixtral and older families
    Alias{model, "num_local_experts", "num_experts"},
    Alias{model, "n_layer", "num_hidden_layers"},
    Alias{model, "n_embd", "hidden_size"},
    Alias{model, "n_head", "num_attention_heads"},
    Alias{model, "n_inner", "intermediate_size"},
    Alias{model, "n_positions", "max_position_embeddings"},
    // DeepSpeed
    Alias{training, "train_micro_batch_size_per_gpu", "micro_batch_size"},
    Alias{training, "train_batch_size", "global_batch_size"},
    Alias{training, "gradient_clipping", "clip_grad"},
};

}  // namespace

std::string_view pointer(Place place) {
    switch (place) {
        case document: return "";
        case model: return "/model";
        case cluster: return "/cluster";
        case strategy: return "/strategy";
        case training: return "/training";
        case outputs: return "/outputs";
        case perturbations: return "/perturbations";
        case other_job: return "/other_jobs";
    }
    return "";
}

std::span<const Key> keys() { return key_table; }
std::span<const Alias> aliases() { return alias_table; }

const Key* find_key(Place place, std::string_view name) {
    const auto* found =
        std::ranges::find_if(key_table, [&](const Key& k) { return k.place == place && k.name == name; });
    return found == key_table.end() ? nullptr : found;
}

const Alias* find_alias(Place place, std::string_view spelling) {
    const auto* found =
        std::ranges::find_if(alias_table, [&](const Alias& a) { return a.place == place && a.spelling == spelling; });
    return found == alias_table.end() ? nullptr : found;
}

std::string nearest_key(Place place, std::string_view unknown) {
    std::vector<std::string_view> known;
    for (const Key& key : key_table) {
        if (key.place == place) known.push_back(key.name);
    }
    for (const Alias& alias : alias_table) {
        if (alias.place == place) known.push_back(alias.spelling);
    }
    return nearest(unknown.substr(0, 64), known, 1).front();  // no known key is longer
}

std::vector<Place> places_of(std::string_view name) {
    std::vector<Place> places;
    for (const Place place : {document, model, cluster, strategy, training, outputs, perturbations, other_job}) {
        if (find_key(place, name) || find_alias(place, name)) places.push_back(place);
    }
    return places;
}

}  // namespace orrery::scenarios
