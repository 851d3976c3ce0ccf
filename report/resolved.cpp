// A scenario written out in full.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "report/json.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;

template <class Enum, std::size_t count>
std::string word(const std::array<std::string_view, count>& words, Enum value) {
    return std::string(words.at(static_cast<std::size_t>(value)));
}

constexpr std::array<std::string_view, 3> families{"gpt", "llama", "bert"};
constexpr std::array<std::string_view, 2> norms{"layernorm", "rmsnorm"};
constexpr std::array<std::string_view, 4> positions{"learned", "rope", "alibi", "none"};
constexpr std::array<std::string_view, 3> recomputes{"none", "selective", "full"};

/// The catalog knows the family of its models, and scenario files may not say it again.
bool in_catalog(const std::string& name) {
    try {
        models::find(name);
        return true;
    } catch (const Error&) {
        return false;
    }
}

Json of(const models::ModelSpec& m) {
    Json model = {{"name", m.name}};
    if (!in_catalog(m.name)) model["model_type"] = word(families, m.family);
    model.update(Json{{"num_hidden_layers", m.layers},
                      {"hidden_size", m.hidden},
                      {"num_attention_heads", m.heads},
                      {"num_key_value_heads", m.kv_heads},
                      {"head_dim", m.head_dim},
                      {"intermediate_size", m.ffn},
                      {"vocab_size", m.vocab},
                      {"type_vocab_size", m.token_types},
                      {"sliding_window", m.attention_window},
                      {"swiglu", m.gated},
                      {"causal", m.causal},
                      {"tie_word_embeddings", m.tied_embeddings},
                      {"add_bias_linear", m.linear_bias},
                      {"add_qkv_bias", m.qkv_bias},
                      {"use_parallel_residual", m.parallel_residual},
                      {"post_norm", m.post_norm},
                      {"mlm_head", m.mlm_head},
                      {"embed_layernorm", m.embedding_norm},
                      {"qk_layernorm", m.qk_norm},
                      {"normalization", word(norms, m.norm)},
                      {"position_embedding_type", word(positions, m.position)}});
    if (m.experts > 0)
        model.update(Json{{"num_experts", m.experts},
                          {"num_experts_per_tok", m.experts_per_token},
                          {"moe_intermediate_size", m.expert_ffn},
                          {"moe_shared_expert_intermediate_size", m.shared_expert_ffn},
                          {"moe_layer_freq", m.moe_layer_freq}});
    if (m.max_positions > 0) model["max_position_embeddings"] = m.max_positions;
    return model;
}

/// Only what the scenario says beyond the preset.
Json of(const topology::ClusterSpec& c) {
    Json cluster = {{"preset", c.preset}};
    if (c.nodes > 0) cluster["nodes"] = c.nodes;
    if (!c.gpu.empty()) cluster["gpu"] = c.gpu;
    if (c.gpus_per_node > 0) cluster["gpus_per_node"] = c.gpus_per_node;
    if (c.nics_per_node > 0) cluster["nics_per_node"] = c.nics_per_node;
    if (c.nic_bytes_per_second > 0) cluster["nic_rate"] = fmt::format("{} GB/s", c.nic_bytes_per_second / 1e9);
    if (c.oversubscription > 0) cluster["oversubscription"] = c.oversubscription;
    if (c.switch_ports > 0) cluster["switch_ports"] = c.switch_ports;
    const topology::FabricSpec& f = c.fabric;
    const auto text = [&](const char* key, const std::string& value) {
        if (!value.empty()) cluster[key] = value;
    };
    const auto count = [&](const char* key, std::uint32_t value) {
        if (value > 0) cluster[key] = value;
    };
    text("fabric", f.kind);
    text("shape", f.shape);
    text("parents", f.parents);
    count("terminals", f.terminals);
    count("routers", f.routers);
    count("spines", f.spines);
    count("global_links", f.global_links);
    count("groups", f.groups);
    if (f.link_bytes_per_second > 0) cluster["link_rate"] = fmt::format("{} GB/s", f.link_bytes_per_second / 1e9);
    text("node_file", c.node_file);
    text("fabric_file", c.fabric_file);
    if (!c.more_nodes.empty()) cluster["more_nodes"] = c.more_nodes;
    text("routing", c.routing);
    if (c.routing_seed != topology::ClusterSpec{}.routing_seed) cluster["routing_seed"] = c.routing_seed;
    if (!c.failed.empty()) cluster["failed"] = c.failed;
    return cluster;
}

Json of(const strategies::Strategy& s) {
    Json strategy = {{"tensor", s.tensor},
                     {"pipeline", s.pipeline},
                     {"virtual_pipeline", s.virtual_pipeline},
                     {"data", s.data},
                     {"sequence_parallel", s.sequence_parallel},
                     {"schedule", word(strategies::schedule_names, s.schedule)},
                     {"sharding", word(strategies::sharding_names, s.sharding)},
                     {"recompute", word(recomputes, s.recompute)},
                     {"recompute_num_layers", s.recompute_num_layers},
                     {"cpu_offloading_num_layers", s.cpu_offloading_num_layers},
                     {"overlap_grad_reduce", s.overlap_grad_reduce},
                     {"overlap_param_gather", s.overlap_param_gather},
                     {"overlap_p2p", s.overlap_p2p},
                     {"scatter_gather", s.scatter_gather},
                     {"async_tensor_allreduce", s.async_tensor_allreduce},
                     {"bucket_size", fmt::format("{} B", s.bucket_bytes)}};
    if (s.expert > 1) strategy["expert"] = s.expert;
    if (s.expert_tensor > 0) strategy["expert_tensor"] = s.expert_tensor;
    if (!s.placement.empty()) strategy["placement"] = s.placement;
    if (!s.placement_file.empty()) strategy["placement_file"] = s.placement_file;
    return strategy;
}

Json of(const strategies::Training& t, double dropout) {
    Json training = {{"seq_length", t.seq},
                     {"micro_batch_size", t.micro_batch},
                     {"global_batch_size", t.global_batch},
                     {"precision", kernels::name(t.precision.compute)},
                     {"grad_reduce_precision", kernels::name(t.precision.grad_reduce)},
                     {"fused_attention", t.fused_attention},
                     {"gradient_accumulation_fusion", t.gradient_accumulation_fusion},
                     {"cuda_graph", t.cuda_graph},
                     {"clip_grad", t.grad_clip},
                     {"dropout", dropout}};
    if (t.expert_capacity > 0) {
        training["moe_expert_capacity_factor"] = t.expert_capacity;
        training["moe_pad_expert_input_to_capacity"] = t.pad_to_capacity;
    }
    return training;
}

Json of(const scenarios::Perturbations& table) {
    Json object = Json::object();
    for (const scenarios::Straggler& straggler : table.stragglers) object["stragglers"].push_back(to_text(straggler));
    for (const scenarios::SlowLink& link : table.links) object["slow_links"].push_back(to_text(link));
    if (table.jitter > 0) object["jitter"] = table.jitter;
    for (const scenarios::Background& traffic : table.background) object["background"].push_back(to_text(traffic));
    if (table.expert_imbalance != 1) object["expert_imbalance"] = table.expert_imbalance;
    for (const scenarios::ExpertLoad& load : table.expert_loads) object["expert_loads"].push_back(to_text(load));
    return object;
}

Json of(const scenarios::OtherJob& job) {
    Json object = {{"scenario", job.scenario}};
    if (!job.set.empty()) object["set"] = job.set;
    if (job.first_gpu) object["first_gpu"] = *job.first_gpu;
    if (job.starts_at > 0) object["starts_at"] = fmt::format("{} s", job.starts_at);
    return object;
}

/// By GPU where there are several kinds.
Json profiles_of(const scenarios::Scenario& scenario) {
    if (scenario.more_profiles.empty()) return scenario.profile;
    Json profiles = {{topology::build(scenario.cluster).gpu().name, scenario.profile}};
    for (const auto& [gpu, profile] : scenario.more_profiles) profiles[gpu] = profile;
    return profiles;
}

}  // namespace

nlohmann::ordered_json resolved(const scenarios::Scenario& scenario) {
    const strategies::Plan& plan = scenario.plan;
    Json document = {{"name", scenario.name},
                     {"model", of(plan.model)},
                     {"cluster", of(scenario.cluster)},
                     {"strategy", of(plan.strategy)},
                     {"training", of(plan.training, plan.model.dropout)},
                     {"seed", scenario.seed}};
    if (!scenario.profile.empty()) document["profile"] = profiles_of(scenario);
    if (scenario.outputs.token_budget > 0) document["outputs"] = {{"token_budget", scenario.outputs.token_budget}};
    if (!scenario.perturbations.none()) document["perturbations"] = of(scenario.perturbations);
    for (const scenarios::OtherJob& job : scenario.other_jobs) document["other_jobs"].push_back(of(job));
    return document;
}

}  // namespace orrery::report
