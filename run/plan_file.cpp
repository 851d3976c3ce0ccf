#include "run/plan_file.hpp"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/error.hpp"

namespace orrery::run {

namespace {

using Json = nlohmann::ordered_json;
constexpr int version = 1;

/// Writes every field it is shown.
struct Writer {
    Json& out;
    template <class T>
    void operator()(const char* key, const T& value) const {
        if constexpr (std::is_enum_v<T>)
            out[key] = static_cast<unsigned>(value);
        else
            out[key] = value;
    }
};

/// Reads every field it is shown.
struct Reader {
    const Json& in;
    template <class T>
    void operator()(const char* key, T& value) const {
        if constexpr (std::is_enum_v<T>)
            value = static_cast<T>(in.at(key).get<std::underlying_type_t<T>>());
        else
            in.at(key).get_to(value);
    }
};

template <class Archive, class Model>
void model_fields(const Archive& each, Model& m) {
    each("name", m.name);
    each("family", m.family);
    each("layers", m.layers);
    each("hidden", m.hidden);
    each("heads", m.heads);
    each("kv_heads", m.kv_heads);
    each("head_dim", m.head_dim);
    each("ffn", m.ffn);
    each("vocab", m.vocab);
    each("max_positions", m.max_positions);
    each("token_types", m.token_types);
    each("gated", m.gated);
    each("causal", m.causal);
    each("tied_embeddings", m.tied_embeddings);
    each("linear_bias", m.linear_bias);
    each("qkv_bias", m.qkv_bias);
    each("parallel_residual", m.parallel_residual);
    each("post_norm", m.post_norm);
    each("mlm_head", m.mlm_head);
    each("norm", m.norm);
    each("position", m.position);
    each("dropout", m.dropout);
    each("embedding_norm", m.embedding_norm);
    each("qk_norm", m.qk_norm);
    each("attention_window", m.attention_window);
    each("experts", m.experts);
    each("experts_per_token", m.experts_per_token);
    each("expert_ffn", m.expert_ffn);
    each("shared_expert_ffn", m.shared_expert_ffn);
    each("moe_layer_freq", m.moe_layer_freq);
}

template <class Archive, class Strategy>
void strategy_fields(const Archive& each, Strategy& s) {
    each("tensor", s.tensor);
    each("pipeline", s.pipeline);
    each("virtual_pipeline", s.virtual_pipeline);
    each("data", s.data);
    each("expert", s.expert);
    each("expert_tensor", s.expert_tensor);
    each("sequence_parallel", s.sequence_parallel);
    each("schedule", s.schedule);
    each("sharding", s.sharding);
    each("recompute", s.recompute);
    each("recompute_num_layers", s.recompute_num_layers);
    each("cpu_offloading_num_layers", s.cpu_offloading_num_layers);
    each("async_tensor_allreduce", s.async_tensor_allreduce);
    each("overlap_grad_reduce", s.overlap_grad_reduce);
    each("overlap_param_gather", s.overlap_param_gather);
    each("overlap_p2p", s.overlap_p2p);
    each("scatter_gather", s.scatter_gather);
    each("bucket_bytes", s.bucket_bytes);
}

template <class Archive, class Training>
void training_fields(const Archive& each, Training& t) {
    each("seq", t.seq);
    each("micro_batch", t.micro_batch);
    each("global_batch", t.global_batch);
    each("compute", t.precision.compute);
    each("grad_reduce", t.precision.grad_reduce);
    each("fused_attention", t.fused_attention);
    each("gradient_accumulation_fusion", t.gradient_accumulation_fusion);
    each("cuda_graph", t.cuda_graph);
    each("grad_clip", t.grad_clip);
    each("expert_capacity", t.expert_capacity);
    each("pad_to_capacity", t.pad_to_capacity);
}

template <class Archive, class Settings>
void settings_fields(const Archive& each, Settings& s) {
    each("steps", s.steps);
    each("warmup", s.warmup);
    each("seed", s.seed);
    each("data", s.data);
    each("rate", s.adam.rate);
    each("b1", s.adam.b1);
    each("b2", s.adam.b2);
    each("epsilon", s.adam.epsilon);
    each("decay", s.adam.decay);
}

}  // namespace

std::string to_json(const RunPlan& plan) {
    Json document{{"plan_version", version}, {"name", plan.name}};
    model_fields(Writer{document["model"]}, plan.plan.model);
    strategy_fields(Writer{document["strategy"]}, plan.plan.strategy);
    training_fields(Writer{document["training"]}, plan.plan.training);
    settings_fields(Writer{document["run"]}, plan.settings);
    if (!plan.settings.kernel_seconds.empty()) document["kernel_seconds"] = plan.settings.kernel_seconds;
    if (plan.settings.only_rank) document["only_rank"] = *plan.settings.only_rank;
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

RunPlan plan_from_json(const std::string& text, const std::string& file) {
    try {
        const Json document = Json::parse(text);
        if (document.at("plan_version") != version)
            throw Error(file, "/plan_version", "is " + document.at("plan_version").dump(),
                        "orrery and orrery-device must be of the same build");
        RunPlan plan;
        plan.name = document.at("name");
        model_fields(Reader{document.at("model")}, plan.plan.model);
        strategy_fields(Reader{document.at("strategy")}, plan.plan.strategy);
        training_fields(Reader{document.at("training")}, plan.plan.training);
        settings_fields(Reader{document.at("run")}, plan.settings);
        if (document.contains("kernel_seconds")) document["kernel_seconds"].get_to(plan.settings.kernel_seconds);
        if (document.contains("only_rank")) plan.settings.only_rank = document["only_rank"].get<std::uint32_t>();
        strategies::validate(plan.plan);
        return plan;
    } catch (const nlohmann::json::exception& error) {
        throw Error(file, "", std::string("is no plan: ") + error.what(), "orrery run writes such files");
    }
}

}  // namespace orrery::run
