// NeMo's YAML of a Megatron GPT: Megatron-LM's keys below `model`, PyTorch Lightning's below `trainer`.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "doors/convert.hpp"
#include "doors/documents/flatten.hpp"
#include "doors/documents/interpolation.hpp"
#include "doors/documents/nemo_keys.hpp"
#include "doors/dropout.hpp"
#include "doors/readers.hpp"
#include "doors/recomputation.hpp"
#include "doors/vocabulary.hpp"

namespace orrery::doors {

namespace {

/// A squared ReLU is two operators of PyTorch there, whatever bias_activation_fusion says (modules/common/megatron/
/// utils.py, squared_relu).
void read_activation(const Givens& given, Draft& draft) {
    const Given* const activation = given.find("model.activation");
    if (activation == nullptr) return;
    const std::string name = text_of(activation->value);
    draft.set("/model/swiglu", name.find("glu") != std::string::npos, activation->origin);
    if (name == "squared-relu") {
        draft.set("/model/hidden_act", "relu2", activation->origin);
        return draft.set("/training/bias_activation_fusion", false, activation->origin);
    }
    if (name.find("gelu") == std::string::npos && name.find("swiglu") == std::string::npos)
        draft.findings.not_modelled(activation->origin.place, activation->origin.name,
                                    "the activation is timed as GELU or SwiGLU", "compare with a measurement");
}

void read_model(const Givens& given, Draft& draft) {
    read_activation(given, draft);
    if (const Given* const bias = given.find("model.bias")) {
        draft.set("/model/add_bias_linear", given.is_on("model.bias"), bias->origin);
        draft.set("/model/add_qkv_bias", given.is_on("model.bias") || given.is_on("model.qkv_bias"), bias->origin);
    }
    if (const Given* const shared = given.find("model.share_embeddings_and_output_weights"))
        draft.set("/model/tie_word_embeddings", given.is_on("model.share_embeddings_and_output_weights"),
                  shared->origin);
    if (const Given* const norm = given.find("model.normalization")) {
        const std::string kind = text_of(norm->value) == "layernorm1p" ? "layernorm" : text_of(norm->value);
        set_key("/model/normalization", {norm->name, kind, norm->origin}, draft);
    }
    const Given* const positions = given.find("model.position_embedding_type");
    const std::string kind = positions == nullptr ? "learned_absolute" : text_of(positions->value);
    const Origin origin = positions == nullptr ? draft.whole_file() : positions->origin;
    set_key("/model/position_embedding_type", {"position_embedding_type", kind, origin}, draft);
    const Given* const table = given.find("model.max_position_embeddings");
    if (kind == "learned_absolute" && table != nullptr) set_key("/model/max_position_embeddings", *table, draft);
    read_dropout(given, "model.hidden_dropout", "model.attention_dropout", draft);
    if (const Given* const experts = given.find("model.num_moe_experts")) {
        if (whole_number(experts->value).value_or(2) > 1) set_key("/model/num_experts", *experts, draft);
    }
    if (draft.whole("/model/num_experts", 0) == 0)  // a dense model reads none of these
        for (const char* key : {"/strategy/moe_token_dispatcher_type", "/strategy/overlap_moe_expert_parallel_comm",
                                "/model/num_experts_per_tok", "/model/moe_intermediate_size", "/model/moe_layer_freq",
                                "/training/moe_expert_capacity_factor", "/training/moe_pad_expert_input_to_capacity",
                                "/training/moe_permute_fusion", "/training/moe_router_fusion"})
            draft.erase(key);
    for (const char* key : {"num_hidden_layers", "hidden_size", "num_attention_heads"})
        draft.want(fmt::format("/model/{}", key), draft.whole_file(), fmt::format("the model's {} is not given", key),
                   fmt::format("--set model.{}=N", key));
}

void read_vocabulary(const Givens& given, Draft& draft) {
    constexpr const char* pointer = "/model/vocab_size";
    if (const Given* const size = given.find_any({"model.override_vocab_size", "model.vocab_size"}))
        return set_key(pointer, *size, draft);
    // A tokenizer's is not padded yet.
    const auto padded = [&](const Given& size) {
        if (const Given* const divisor = given.find("model.make_vocab_size_divisible_by"))
            set_key("/model/make_vocab_size_divisible_by", *divisor, draft);
        set_key(pointer, size, draft);
    };
    for (const char* name : {"model.tokenizer.type", "model.tokenizer.model"})
        if (const auto tokens = tokens_of(given.text(name)))
            return padded({"vocab_size", *tokens, given.find(name)->origin});
    if (const Given* const size = given.find("model.tokenizer.vocab_size")) return padded(*size);
    const Given* const tokenizer = given.find_any({"model.tokenizer.type", "model.tokenizer.library"});
    draft.want(pointer, tokenizer == nullptr ? draft.whole_file() : tokenizer->origin,
               "the size of this tokenizer's vocabulary is not known here", "--set model.vocab_size=N");
}

/// NeMo's optimizers by name; the distributed ones shard their states.
void read_optimizer(const Givens& given, Draft& draft) {
    const Given* const optimizer = given.find("model.optim.name");
    if (optimizer == nullptr) return;
    const std::string name = text_of(optimizer->value);
    const bool distributed = name.find("distributed") != std::string::npos;
    if (!distributed && name.find("adam") == std::string::npos)
        return set_key("/training/optimizer", *optimizer, draft);
    if (!distributed) return;
    draft.set_default("/strategy/sharding", "zero1", optimizer->origin);
    // Both are on in the distributed optimizer unless the file says otherwise.
    const auto overlaps = [&](const char* key, const char* pointer) {
        const Given* const said = given.find(key);
        draft.set(pointer, said == nullptr || given.is_on(key), said == nullptr ? optimizer->origin : said->origin);
    };
    overlaps("model.optim.overlap_grad_sync", "/strategy/overlap_grad_reduce");
    if (given.is_on("model.optim.overlap_param_sync") && draft.is_true("/strategy/overlap_grad_reduce"))
        overlaps("model.optim.overlap_param_sync", "/strategy/overlap_param_gather");
    if (given.text("model.optim.grad_sync_dtype") == "bf16")
        draft.set("/training/grad_reduce_precision", "bf16", given.find("model.optim.grad_sync_dtype")->origin);
    if (const Given* const bucket = given.find("model.optim.bucket_cap_mb"))
        if (const auto size = whole_of(*bucket, draft))
            draft.set("/strategy/bucket_size", fmt::format("{} MB", std::min<std::uint64_t>(*size, 100'000)),
                      bucket->origin);
}

void read_fsdp(const Givens& given, Draft& draft) {
    if (!given.is_on("model.fsdp")) return;
    const Given* const kind = given.find("model.fsdp_sharding_strategy");
    const std::string name = kind == nullptr ? "full" : text_of(kind->value);
    const Origin origin = kind == nullptr ? given.find("model.fsdp")->origin : kind->origin;
    if (name == "hybrid")
        return draft.findings.refuse(origin.place, origin.name, "how many ranks share is not said here",
                                     "full or grad, with --set "
                                     "strategy.num_distributed_optimizer_instances=N");
    draft.set("/strategy/sharding", "zero3", origin);
    draft.set("/strategy/fsdp_implementation", "fsdp1", origin);
    if (name == "grad") draft.set("/strategy/fsdp_reshard_after_forward", false, origin);
    draft.set("/strategy/overlap_grad_reduce", true, origin);
    draft.erase("/strategy/overlap_param_gather");
}

void read_recomputation(const Givens& given, Draft& draft) {
    const Given* const granularity = given.find("model.activations_checkpoint_granularity");
    if (granularity == nullptr) return;
    set_key("/strategy/recompute", *granularity, draft);
    if (text_of(granularity->value) == "full")
        read_recomputed_layers(given.find("model.activations_checkpoint_num_layers"),
                               given.find("model.activations_checkpoint_method"), draft);
}

void read_parallelism(const Givens& given, Draft& draft) {
    if (const Given* const chunks = given.find("model.virtual_pipeline_model_parallel_size")) {
        if (draft.whole("/strategy/pipeline", 1) > 1)
            set_key("/strategy/virtual_pipeline", *chunks, draft);
        else
            draft.findings.harmless(chunks->origin.place, chunks->origin.name);
    }
    if (given.is_on("model.overlap_p2p_comm") && draft.whole("/strategy/virtual_pipeline", 1) > 1)
        draft.set("/strategy/overlap_p2p", true, given.find("model.overlap_p2p_comm")->origin);
    if (const Given* const sequence = given.find("model.sequence_parallel"))
        draft.set("/strategy/sequence_parallel",
                  given.is_on("model.sequence_parallel") && draft.whole("/strategy/tensor", 1) > 1, sequence->origin);
    if (given.is_on("model.ub_tp_comm_overlap")) overlap_tensor_comm(*given.find("model.ub_tp_comm_overlap"), draft);
}

void read_precision(const Givens& given, Draft& draft) {
    const Given* const precision = given.find("trainer.precision");
    const std::string name = precision == nullptr ? "bf16" : text_of(precision->value);
    const Origin origin = precision == nullptr ? draft.whole_file() : precision->origin;
    if (given.is_on("model.fp8")) {
        draft.set("/training/precision", "fp8", given.find("model.fp8")->origin);
        for (const auto& [word, pointer] :
             {std::pair("model.fp8_params", "/training/fp8_param_gather"),
              std::pair("model.disable_parameter_transpose_cache", "/training/disable_parameter_transpose_cache")})
            if (given.is_on(word)) draft.set(pointer, true, given.find(word)->origin);
    } else if (name.find("bf16") != std::string::npos)
        draft.set("/training/precision", "bf16", origin);
    else if (name.find("16") != std::string::npos)
        draft.set("/training/precision", "fp16", origin);
    else
        draft.set("/training/precision", "fp32", origin);
}

/// What is narrower, or wider, than the model has it.
void note_other_formats(const Givens& given, Draft& draft) {
    const auto note = [&](const Given& each, const char* what) {
        draft.findings.not_modelled(each.origin.place, each.origin.name, what,
                                    "compare with a measurement before you rely on the difference");
    };
    const Given* const wgrad = given.find("model.fp8_wgrad");
    if (given.is_on("model.fp8") && wgrad != nullptr && !given.is_on(wgrad->name))
        note(*wgrad, "weight gradients' products are in fp8 like the others");
    const Given* const states = given.find("model.optim.dtype");
    if (states != nullptr && text_of(states->value).find("16") != std::string::npos)
        note(*states, "the optimizer's states are in fp32");
}

/// Narrow products are Transformer Engine's alone.
void read_software(const Givens& given, Draft& draft) {
    for (const char* name : {"model.fp8", "model.transformer_engine"})
        if (given.is_on(name)) return draft.set("/training/software", "transformer-engine", given.find(name)->origin);
}

void read_trainer(const Givens& given, Draft& draft) {
    const auto count = [&](const char* name, std::optional<std::uint64_t>& to) {
        const Given* const found = given.find(name);
        if (found == nullptr) return;
        if (const auto number = whole_number(found->value); number && *number > 0) {
            to = number;
            draft.machines.origin = found->origin;
        }
    };
    count("trainer.num_nodes", draft.machines.nodes);
    count("trainer.devices", draft.machines.gpus_per_node);
    if (const Given* const clip = given.find("trainer.gradient_clip_val")) set_key("/training/clip_grad", *clip, draft);
    if (const Given* const tokens =
            given.find_any({"model.encoder_seq_length", "model.seq_length", "model.data.seq_length"}))
        set_key("/training/seq_length", *tokens, draft);
    draft.want("/training/seq_length", draft.whole_file(), "model.encoder_seq_length is not given",
               "--set training.seq_length=N");
    draft.want("/training/micro_batch_size", draft.whole_file(), "model.micro_batch_size is not given",
               "--set training.micro_batch_size=N");
    const bool unfused = !given.is_on("model.transformer_engine") && !given.is_on("model.mcore_gpt") &&
                         !given.is_on("model.use_flash_attention");
    if (unfused) draft.set("/training/fused_attention", false, draft.whole_file());
}

/// Models of other shapes than a GPT's, by what only they have: nothing else of such a file is looked at.
void refuse_others(const Givens& given, Draft& draft) {
    for (const auto& [key, what] : {std::pair{"model.encoder", "encoder-decoders are not imported yet"},
                                    {"model.decoder", "encoder-decoders are not imported yet"},
                                    {"model.vision", "models of images and text are not imported yet"},
                                    {"model.mm_cfg", "models of images and text are not imported yet"},
                                    {"model.hybrid_override_pattern", "state-space models are not imported yet"},
                                    {"model.unet_config", "diffusion models are not predicted yet"}})
        for (const Given& each : given.all())
            if (each.name == key || each.name.starts_with(std::string(key) + ".")) {
                draft.hopeless = true;
                return draft.findings.refuse(each.origin.place, key, what, "give the configuration of a GPT or Llama");
            }
}

}  // namespace

void read_nemo(const Request& request, Draft& draft) {
    nlohmann::ordered_json document = read_yaml(request.file);
    if (document.is_object()) interpolate(document);
    const Givens given = flattened(document, request.file);
    if (given.find("model.num_layers") == nullptr) refuse_others(given, draft);
    if (draft.hopeless) return;
    apply(nemo_keys(), given, draft);
    read_model(given, draft);
    read_vocabulary(given, draft);
    read_parallelism(given, draft);
    read_optimizer(given, draft);
    read_fsdp(given, draft);
    read_recomputation(given, draft);
    read_precision(given, draft);
    read_software(given, draft);
    note_other_formats(given, draft);
    read_trainer(given, draft);
}

}  // namespace orrery::doors
