#include "tests/scenarios/random_combination.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/scenario.hpp"
#include "strategies/plan_fields.hpp"
#include "strategies/schedule/schedule.hpp"
#include "tests/scenarios/dice.hpp"
#include "tests/scenarios/random_scenario.hpp"

namespace orrery::scenarios {

namespace {

using documents::Key;
using documents::Kind;
using nlohmann::json;
using strategies::ScheduleKind;

constexpr std::uint32_t most_gpus = 64, most_layers = 8, most_micro_batches = 16;

std::uint32_t of(const json& section, const char* key) { return section.value(key, 1U); }

void set_micro_batches(json& s, std::uint32_t each) {
    s["strategy"].erase("replica_micro_batches");
    s["training"]["global_batch_size"] = each * of(s["training"], "micro_batch_size") * of(s["strategy"], "data");
}

/// Chunks of so many layers each as a stage holds, in so many stages.
void set_stages(json& s, std::uint32_t stages, std::uint32_t chunks, std::uint32_t layers_each) {
    json& strategy = s["strategy"];
    strategy["pipeline"] = stages;
    strategy.erase("virtual_pipeline");
    strategy.erase("overlap_p2p");
    for (const char* key : {"pipeline_layers", "cpu_offloading_num_layers", "recompute_num_layers"})
        strategy.erase(key);
    if (chunks > 1) strategy["virtual_pipeline"] = chunks;
    s["model"]["num_hidden_layers"] = stages * chunks * layers_each;
}

/// Any schedule, with stages, chunks and micro-batches as it demands; what it never goes with is left out in half of
/// the draws, so that refusals are met too.
void any_schedule(Dice& dice, json& s) {
    json& strategy = s["strategy"];
    const auto count = static_cast<std::uint32_t>(strategies::schedules.size());
    const strategies::Schedule& schedule = strategies::schedules[dice.between(0, count - 1)];
    const std::uint32_t stages = std::min(of(strategy, "pipeline"), 4U);
    const bool two_ways = schedule.order == strategies::ChunkOrder::opposes;
    const std::uint32_t chunks = !schedule.chunked     ? 1
                                 : schedule.chunks > 0 ? schedule.chunks
                                                       : dice.between(1, most_layers / (2 * stages));
    set_stages(s, stages, chunks, dice.between(1, most_layers / (stages * chunks)));
    strategy["schedule"] = schedule.name;
    const strategies::PipelineShape shape{.pipeline = stages, .chunks = chunks, .order = schedule.order};
    const strategies::Demand demand = schedule.demand(shape);
    const std::uint32_t least = std::max(demand.least, demand.micro_batches);
    const std::uint32_t units = (least + demand.micro_batches - 1) / demand.micro_batches;
    const std::uint32_t most = std::max(units, most_micro_batches / demand.micro_batches);
    set_micro_batches(s, demand.micro_batches * dice.between(units, most));
    if (dice.coin()) return;
    if (schedule.splits_backward()) strategy["recompute"] = dice.one_of<std::string>({"none", "selective"});
    if (schedule.splits_backward() || two_ways) strategy.erase("recompute_modules");
    if (schedule.asynchronous) {
        strategy["sharding"] = "none";
        strategy.erase("overlap_param_gather");
        strategy.erase("num_distributed_optimizer_instances");
        s["model"]["tie_word_embeddings"] = false;
    }
}

/// Experts in some layers or all, divided among ranks that the plan has, by any dispatcher.
void experts(Dice& dice, json& s) {
    json& model = s["model"];
    json& strategy = s["strategy"];
    const std::uint32_t tensor = of(strategy, "tensor"), context = of(strategy, "context");
    const std::uint32_t number = dice.one_of<std::uint32_t>({4, 8, 16});
    model["num_experts"] = number;
    model["num_experts_per_tok"] = dice.between(1, 3);
    model["moe_intermediate_size"] = tensor * 32 * dice.between(1, 4);
    if (dice.coin()) model["moe_shared_expert_intermediate_size"] = tensor * 32 * dice.between(1, 2);
    if (dice.coin()) model["moe_layer_freq"] = dice.between(1, 2);
    if (dice.between(0, 3) == 0) model["first_k_dense_replace"] = 1;
    if (dice.between(0, 5) == 0) model["moe_latent_size"] = 64;
    const bool whole = dice.coin();
    if (whole) strategy["expert_tensor"] = 1;
    const std::uint32_t cover = context * (whole ? tensor : 1);
    strategy["expert"] = dice.coin() ? dice.one_of<std::uint32_t>({1, 2, 4, 8}) : cover * dice.between(1, 2);
    strategy["sequence_parallel"] = tensor > 1;
    strategy["moe_token_dispatcher_type"] = dice.one_of<std::string>({"alltoall", "allgather", "flex"});
    if (dice.between(0, 3) == 0) strategy["overlap_moe_expert_parallel_comm"] = true;
    if (dice.coin()) {
        s["training"]["moe_expert_capacity_factor"] = dice.one_of({1.0, 1.25, 2.0});
        if (dice.coin()) s["training"]["moe_pad_expert_input_to_capacity"] = true;
    }
    if (dice.coin()) s["training"].erase("lora_rank");
    if (s["training"].value("cuda_graph", false))
        s["training"]["cuda_graph_scope"] = dice.one_of<std::string>({"outside_experts", "routers"});
}

/// Attention over latent keys and values, as DeepSeek-V2 has it.
void latent_attention(Dice& dice, json& s) {
    json& model = s["model"];
    model["model_type"] = "llama";
    model["num_key_value_heads"] = model["num_attention_heads"];
    model["position_embedding_type"] = "rope";
    for (const char* key : {"add_bias_linear", "use_parallel_residual", "sliding_window", "sliding_window_pattern"})
        model.erase(key);
    model["kv_lora_rank"] = 64;
    if (dice.coin()) model["q_lora_rank"] = 96;
    model["head_dim"] = 64;
    model["qk_rope_head_dim"] = 32;
    model["v_head_dim"] = dice.one_of<std::uint32_t>({32, 64});
    if (dice.coin()) s["strategy"].update({{"recompute", "selective"}, {"recompute_modules", "mla_up_proj"}});
}

/// Mixers between attention and MLPs, and experts in some.
void mixers(Dice& dice, json& s) {
    const std::uint32_t tensor = of(s["strategy"], "tensor");
    const std::string pattern = dice.one_of<std::string>({"M*-M", "M-M*", "M*M-M*M-", "MEM*"});
    json& model = s["model"];
    model = {{"name", "nemotron-h-8b"},
             {"hybrid_override_pattern", pattern},
             {"num_hidden_layers", pattern.size()},
             {"vocab_size", model["vocab_size"]}};
    model.update({{"hidden_size", 512},
                  {"num_attention_heads", 8},
                  {"num_key_value_heads", 8},
                  {"head_dim", 64},
                  {"intermediate_size", 1024},
                  {"mamba_num_heads", 16},
                  {"mamba_head_dim", 64},
                  {"n_groups", 8},
                  {"ssm_state_size", 64}});
    if (pattern.find('E') != std::string::npos)
        model.update({{"num_experts", 8}, {"num_experts_per_tok", 2}, {"moe_intermediate_size", 64 * tensor}});
    s["strategy"]["pipeline"] = dice.between(1, 2);
    s["training"].erase("fused_rms_norm");
}

/// What other models leave of a strategy: data ranks, of `tensor` ranks each where the model is divided.
void plain_strategy(Dice& dice, json& s, bool divided, std::uint32_t stages) {
    const std::uint32_t ranks = of(s["strategy"], "data") * of(s["strategy"], "tensor") * of(s["strategy"], "pipeline");
    const std::uint32_t tensor = divided && ranks % (4 * stages) == 0 ? dice.one_of<std::uint32_t>({1, 2, 4}) : 1;
    const std::uint32_t pipeline = ranks % (tensor * stages) == 0 ? stages : 1;
    s["strategy"] = {{"tensor", tensor},
                     {"pipeline", pipeline},
                     {"data", std::max(1U, ranks / (tensor * pipeline))},
                     {"schedule", "1f1b"},
                     {"sharding", dice.one_of<std::string>({"none", "zero1", "zero2", "zero3"})},
                     {"overlap_grad_reduce", dice.coin()}};
    const json& before = s["training"];
    s["training"] = {{"micro_batch_size", dice.between(1, 4)},
                     {"precision", before["precision"] == "fp8" ? "bf16" : before["precision"]},
                     {"fused_attention", before["fused_attention"]},
                     {"clip_grad", before["clip_grad"]}};
}

/// Networks over images or texts that are not one stack of a decoder.
void other_model(Dice& dice, json& s) {
    const std::string model = dice.one_of<std::string>({"t5", "vit", "clip", "resnet", "transformer-xl"});
    const std::uint32_t layers = dice.one_of<std::uint32_t>({2, 4});
    plain_strategy(dice, s, model != "resnet" && model != "transformer-xl", model == "vit" ? dice.between(1, 2) : 1);
    json& training = s["training"];
    if (model == "t5") {
        s["model"] = {{"name", "t5-small"}, {"num_hidden_layers", layers}, {"num_decoder_layers", 2}};
        training.update({{"seq_length", 128}, {"decoder_seq", dice.one_of<std::uint32_t>({64, 96})}});
    } else if (model == "vit") {
        s["model"] = {{"name", "vit-b16"}, {"num_hidden_layers", layers}};
        training["seq_length"] = 197;
    } else if (model == "clip") {
        s["model"] = {{"name", "clip-vit-b32"}, {"num_hidden_layers", layers}, {"text_num_hidden_layers", 2}};
        training.update({{"seq_length", 50}, {"decoder_seq", 77}});
    } else if (model == "resnet") {
        s["model"] = {{"name", "resnet-50"}, {"num_hidden_layers", 4}, {"depths", {1, 1, 1, 1}}};
        training["seq_length"] = 1;
        const std::uint32_t data = of(s["strategy"], "data"), split = dice.one_of<std::uint32_t>({1, 2, 4});
        if (data % split == 0 && split > 1) s["strategy"]["split_classes"] = split;
        if (dice.coin()) training["memory_format"] = "channels_first";
    } else {
        s["model"] = {{"name", "transformer-xl-base"}, {"num_hidden_layers", layers}};
        training.update({{"seq_length", 64}, {"fused_attention", false}, {"kernel_fusion", "operators"}});
    }
    set_micro_batches(s, model == "clip" ? 1 : dice.between(1, 4));
}

/// Keys that shapes of others depend on: the changes above set them.
bool is_shape(std::string_view key) {
    constexpr std::array keys{"tensor",        "pipeline",        "virtual_pipeline",  "data",
                              "context",       "seq_length",      "decoder_seq",       "micro_batch_size",
                              "schedule",      "pipeline_layers", "global_batch_size", "replica_micro_batches",
                              "placement_file"};
    return std::ranges::find(keys, key) != keys.end();
}

std::string any_text(Dice& dice, std::string_view key) {
    if (key == "placement")
        return dice.one_of<std::string>({"linear", "round_robin", "row", "column", "pp-dp-tp", "dp-tp-pp"});
    return dice.one_of<std::string>({"core_attn", "layernorm", "mlp", "moe_act", "moe", "shared_experts", "mla_up_proj",
                                     "layernorm,mlp", "core_attn,moe_act", "moe,layernorm", "mla_up_proj,layernorm"});
}

/// Something that the key can say.
json any_value(Dice& dice, const Key& key) {
    const auto in_range = [&](double value) { return std::clamp(value, key.min, key.max); };
    switch (key.kind) {
        case Kind::choice: return key.words[dice.between(0, static_cast<std::uint32_t>(key.words.size()) - 1)].name;
        case Kind::boolean: return dice.between(0, 3) != 0;
        case Kind::integer:
            return static_cast<std::uint64_t>(in_range(dice.one_of<double>({0, 1, 2, 2, 3, 4, 8, 16, 1000})));
        case Kind::number: return in_range(dice.one_of({0.0, 0.25, 0.5, 1.0, 2.0}));
        case Kind::bytes: return std::to_string(dice.between(1, 200)) + " MB";
        default: return any_text(dice, key.name);
    }
}

/// What PyTorch runs, whose layers cast their weights for each product.
void casts(json& s) {
    json& training = s["training"];
    for (const char* key : {"gradient_accumulation_fusion", "grad_reduce_precision", "lora_rank", "base_weights",
                            "master_weights", "frozen_layers", "kernel_fusion"})
        training.erase(key);
    training.update({{"software", "pytorch"}, {"precision", "bf16"}});
    s["strategy"].update({{"sharding", "none"}});
    s["strategy"].erase("num_distributed_optimizer_instances");
}

/// One key of strategy or training, some of which mean something beside others alone.
void any_key(Dice& dice, json& s) {
    const auto strategy = documents::keys_of(strategies::strategy_fields());
    const auto training = documents::keys_of(strategies::training_fields());
    const auto all = static_cast<std::uint32_t>(strategy.size() + training.size());
    std::uint32_t drawn = dice.between(0, all - 1);
    const auto key_at = [&](std::uint32_t i) {
        return i < strategy.size() ? strategy[i] : training[i - strategy.size()];
    };
    while (is_shape(key_at(drawn).name)) drawn = (drawn + 1) % all;
    const Key key = key_at(drawn);
    json& section = s[drawn < strategy.size() ? "strategy" : "training"];
    section[std::string(key.name)] = any_value(dice, key);
    json& of_plan = s["strategy"];
    if (key.name == "recompute_modules" && dice.coin()) of_plan["recompute"] = "selective";
    if (key.name.starts_with("offload_") && dice.coin()) of_plan["optimizer_cpu_offload"] = true;
    if (key.name == "powersgd_rank") of_plan.update({{"compression", "powersgd"}, {"sharding", "none"}});
    if (key.name.starts_with("compression_")) of_plan["compression"] = "by_ratio";
    if (key.name == "document_length" && dice.coin()) {
        s["training"]["document_length"] = of(s["training"], "seq_length") / dice.one_of<std::uint32_t>({2, 4, 8});
        s["training"]["fused_attention"] = true;
        of_plan["context"] = 1;
    }
    if (key.name == "compression_passes") of_plan["compression_ratio"] = 4;
    if (key.name == "autocast") casts(s);
    if (key.name == "checkpoint_names" && dice.coin()) {
        of_plan.update({{"checkpoint_policy", "save_only_these_names"},
                        {"recompute", "full"},
                        {"checkpoint_names", dice.one_of<std::string>({"context", "query_proj,key_proj,mlpwi_0",
                                                                       "out_proj,moe_mlpwi_0,moe_mlpwi_1",
                                                                       "kv_wa_proj,mlpwi_0,mlpwi_1,mlpwo"})}});
        of_plan.erase("recompute_modules");
        s["training"]["software"] = "jax";
    }
    if (key.name == "offload_names" && dice.coin()) {
        of_plan.update({{"recompute", "full"}, {"offload_names", "decoder_layer_input"}});
        of_plan.emplace("cpu_offloading_num_layers", 1);
        of_plan.erase("recompute_modules");
        s["training"]["software"] = "jax";
    }
    if (key.name == "checkpoint_policy" && dice.coin()) {
        casts(s);
        s["training"].erase("autocast");
        of_plan["recompute"] = "full";
        of_plan.erase("recompute_modules");
    }
    if (key.name == "tp_prepare_module_input" && dice.coin()) s["training"]["fuse_attention_qkv"] = false;
    if (key.name == "base_weights" && dice.coin()) s["training"]["lora_rank"] = 16;
    if (key.name == "gradient_as_bucket_view") of_plan["sharding"] = "none";
    if (key.name == "grad_reduce_collective" && dice.coin())
        of_plan["sharding"] = dice.one_of<std::string>({"zero1", "zero2", "zero3"});
    if ((key.name.starts_with("zero_") || key.name.starts_with("fsdp_")) && dice.coin()) of_plan["sharding"] = "zero3";
}

/// A host with an optimizer, under any sharding.
void host_optimizer(Dice& dice, json& s) {
    json& strategy = s["strategy"];
    strategy["optimizer_cpu_offload"] = true;
    if (dice.coin()) strategy["optimizer_offload_fraction"] = dice.one_of({0.1, 0.5, 0.9});
    strategy["overlap_cpu_optimizer_d2h_h2d"] = dice.coin();
    if (dice.coin()) s["training"].update({{"optimizer", "adam"}, {"fused_optimizer", true}});
}

/// Weights that come from the host, under each implementation that gathers their shards.
void host_weights(Dice& dice, json& s) {
    json& strategy = s["strategy"];
    strategy.update({{"sharding", "zero3"}, {"offload_param_device", dice.one_of<std::string>({"cpu", "nvme"})}});
    s["training"]["software"] = dice.one_of<std::string>({"pytorch", "pytorch", "deepspeed"});
    if (dice.coin()) strategy["fsdp_implementation"] = dice.one_of<std::string>({"fsdp1", "fsdp2"});
}

/// Groups of data ranks that each keep all that is sharded.
void instances(Dice& dice, json& s) {
    s["strategy"]["num_distributed_optimizer_instances"] = dice.one_of<std::uint32_t>({2, 2, 4});
    s["strategy"]["sharding"] = dice.one_of<std::string>({"zero1", "zero1", "zero2", "zero3"});
    if (s["strategy"]["sharding"] == "zero3" && s["strategy"]["num_distributed_optimizer_instances"] == 4)
        s["strategy"]["gradient_sync"] = "two_hop";
}

/// GPUs that multiply fp4 too.
void blackwell(Dice& dice, json& s) {
    s["cluster"] = {{"preset", dice.one_of<std::string>({"hgx-b200", "gb200-nvl72"})}, {"nodes", most_gpus / 8}};
    s["training"]["precision"] = dice.one_of<std::string>({"fp4", "fp8", "bf16"});
    s["training"].erase("grad_reduce_precision");
    if (dice.coin())
        s["training"]["fp8_recipe"] =
            dice.one_of<std::string>({"delayed", "tensorwise", "tensorwise", "blockwise", "mxfp8"});
    if (dice.coin()) s["training"]["software"] = dice.one_of<std::string>({"orrery", "transformer-engine"});
    if (dice.coin()) s["training"]["num_layers_at_start_in_bf16"] = 1;
    if (s["training"].value("fp8_recipe", "") == "mxfp8") s["training"]["fp8_output_proj"] = dice.coin();
    if (dice.coin()) s["training"].update({{"fp8_dot_product_attention", true}, {"fused_attention", true}});
    if (dice.coin()) s["training"].update({{"fp8_param_gather", true}, {"software", "transformer-engine"}});
    if (dice.coin()) s["training"]["disable_parameter_transpose_cache"] = true;
}

/// AMD's nodes, whose GPUs are joined without switches, with their own attention.
void instinct(Dice& dice, json& s) {
    const auto preset = dice.one_of<std::string>({"mi300x", "mi355x", "frontier"});
    s["cluster"] = {{"preset", preset}, {"nodes", most_gpus / 8}};
    s["training"]["precision"] = dice.one_of<std::string>({"bf16", "fp16", preset == "frontier" ? "bf16" : "fp8"});
    s["training"].erase("grad_reduce_precision");
    s["training"]["attention_kernel"] = dice.one_of<std::string>({"aiter", "composable-kernel", "aotriton"});
}

/// The embedding, the loss or both count as a layer when layers are divided.
void counted_ends(Dice& dice, json& s) {
    json& strategy = s["strategy"];
    const std::uint32_t virtual_stages = of(strategy, "pipeline") * of(strategy, "virtual_pipeline");
    const std::uint32_t counted = dice.between(1, 3), each = dice.between(2, 4);
    for (const char* key : {"pipeline_layers", "cpu_offloading_num_layers", "recompute_num_layers"})
        strategy.erase(key);
    if ((counted & 1U) != 0) strategy["account_for_embedding_in_pipeline_split"] = true;
    if ((counted & 2U) != 0) strategy["account_for_loss_in_pipeline_split"] = true;
    s["model"]["num_hidden_layers"] = virtual_stages * each - (counted == 3 ? 2 : 1);
}

void change(Dice& dice, json& s) {
    switch (dice.between(0, 25)) {
        case 0: return any_schedule(dice, s);
        case 1: return experts(dice, s);
        case 2: return host_optimizer(dice, s);
        case 3: return instances(dice, s);
        case 4: return dice.between(0, 3) == 0 ? instinct(dice, s) : blackwell(dice, s);
        case 5: return counted_ends(dice, s);
        case 6: return host_weights(dice, s);
        default: return any_key(dice, s);
    }
}

bool is_small(const Scenario& scenario) {
    const strategies::Plan& plan = scenario.plan;
    return scenario.gpus <= most_gpus && plan.model.layers <= most_layers && plan.micro_batches() <= most_micro_batches;
}

/// Takes what the loader takes, and says whether it did.
class Combination {
public:
    Combination(json document, std::vector<RefusedCombination>* refused)
        : document_(std::move(document)), refused_(refused) {}

    bool take(json changed) {
        try {
            if (!is_small(from_json(changed, "combination.json"))) return false;
        } catch (const Error& error) {
            if (refused_ != nullptr) refused_->push_back({std::move(changed), error});
            return false;
        }
        document_ = std::move(changed);
        return true;
    }
    [[nodiscard]] const json& document() const { return document_; }

private:
    json document_;
    std::vector<RefusedCombination>* refused_;
};

}  // namespace

json random_combination(std::mt19937_64& random, std::vector<RefusedCombination>* refused) {
    Combination combination(random_scenario(random), refused);
    Dice dice(random);
    const auto kind = dice.between(0, 11);
    const auto attempt = [&](auto what) {
        json changed = combination.document();
        what(dice, changed);
        return combination.take(std::move(changed));
    };
    if (kind < 4) attempt(experts);
    if (kind == 4) attempt(latent_attention) && attempt(experts);
    if (kind == 5) attempt(mixers);
    if (kind == 6) attempt(other_model);
    if (kind != 6 && dice.coin()) attempt(any_schedule);
    for (std::uint32_t left = dice.between(1, 4); left > 0; --left) attempt(change);
    return combination.document();
}

}  // namespace orrery::scenarios
