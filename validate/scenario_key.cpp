#include "validate/scenario_key.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <type_traits>

#include "base/text.hpp"

namespace orrery::validate {

namespace {

template <class T>
std::string text(const T& value) {
    if constexpr (std::is_enum_v<T>) {
        return fmt::format("{}", static_cast<int>(value));
    } else {
        return fmt::format("{}", value);
    }
}

template <class... T>
std::string list(const T&... values) {
    std::string result;
    ((result += text(values) + ","), ...);
    return result + ";";
}

// Structured bindings name every member, so that a new one does not compile until it is part of the key.

std::string key(const models::ModelSpec& spec) {
    const auto& [name, family, layers, hidden, heads, kv_heads, head_dim, ffn, vocab, positions, token_types, gated,
                 causal, tied, linear_bias, qkv_bias, parallel_residual, post_norm, mlm_head, norm, position, dropout,
                 embedding_norm, qk_norm, window, experts, top_k, expert_ffn, shared_ffn, moe_freq, decoder_layers,
                 relative_buckets, image] = spec;
    const auto& [image_size, depths] = image;
    const auto& [first, second, third, fourth] = depths;
    return list(family, layers, hidden, heads, kv_heads, head_dim, ffn, vocab, positions, token_types, gated, causal,
                tied, linear_bias, qkv_bias, parallel_residual, post_norm, mlm_head, norm, position, dropout,
                embedding_norm, qk_norm, window, experts, top_k, expert_ffn, shared_ffn, moe_freq, decoder_layers,
                relative_buckets, image_size, first, second, third, fourth);
}

std::string key(const strategies::Strategy& strategy) {
    const auto& [tensor, pipeline, chunks, data, expert, expert_tensor, sequence, schedule, sharding, recompute,
                 recompute_layers, offloaded_layers, async, overlap_reduce, overlap_gather, overlap_p2p, scatter_gather,
                 bucket, placement, placement_file] = strategy;
    return list(tensor, pipeline, chunks, data, expert, expert_tensor, sequence, schedule, sharding, recompute,
                recompute_layers, offloaded_layers, async, overlap_reduce, overlap_gather, overlap_p2p, scatter_gather,
                bucket, placement, placement_file);
}

std::string key(const strategies::Training& training) {
    const auto& [seq, micro, global, precision, fused_attention, accumulation_fusion, cuda_graph, host_software, clip,
                 capacity, pad] = training;
    const auto& [compute, grad_reduce] = precision;
    return list(seq, micro, global, compute, grad_reduce, fused_attention, accumulation_fusion, cuda_graph,
                host_software, clip, capacity, pad);
}

std::string key(const topology::ClusterSpec& cluster) {
    const auto& [preset, nodes, gpu, gpus_per_node, nics, rate, oversubscription, switch_ports, fabric, routing, seed,
                 failed, node_file, fabric_file, more_nodes] = cluster;
    const auto& [kind, shape, parents, terminals, routers, spines, global_links, groups, link_rate] = fabric;
    return list(preset, nodes, gpu, gpus_per_node, nics, rate, oversubscription, switch_ports, kind, shape, parents,
                terminals, routers, spines, global_links, groups, link_rate, routing, seed, join(failed), node_file,
                fabric_file, join(more_nodes));
}

std::string key(const scenarios::Perturbations& perturbations) {
    const auto& [stragglers, links, jitter, background, imbalance, loads] = perturbations;
    std::string text = list(jitter, imbalance);
    for (const scenarios::ExpertLoad& load : loads) text += to_text(load) + ";";
    for (const scenarios::Straggler& straggler : stragglers) text += to_text(straggler) + ";";
    for (const scenarios::SlowLink& link : links) text += to_text(link) + ";";
    for (const scenarios::Background& traffic : background) text += to_text(traffic) + ";";
    return text;
}

std::string key(const scenarios::OtherJob& job) {
    const auto& [scenario, set, first_gpu, starts_at, name, plan] = job;  // name and plan follow from these
    return list(scenario, join(set), first_gpu.value_or(~0U), starts_at);
}

}  // namespace

std::string scenario_key(const scenarios::Scenario& scenario) {
    const auto& [name, plan, cluster, gpus, profile, more_profiles, seed, outputs, perturbations, other_jobs] =
        scenario;
    const auto& [model, strategy, training, placement] = plan;  // placement follows from strategy and cluster
    const auto& [token_budget] = outputs;
    std::string profiles = list(profile), others;
    for (const auto& [gpu, each] : more_profiles) profiles += list(gpu, each);
    for (const scenarios::OtherJob& job : other_jobs) others += key(job);
    return key(model) + key(strategy) + key(training) + key(cluster) + list(gpus, profiles, seed, token_budget) +
           key(perturbations) + others;
}

}  // namespace orrery::validate
