#include "scenarios/usual_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "scenarios/cluster_size.hpp"
#include "scenarios/override.hpp"
#include "topology/catalog.hpp"
#include "topology/usual_nodes.hpp"

namespace orrery::scenarios {

namespace {

constexpr const char* of_hugging_face = "model.hugging_face";

constexpr UsualKeys::Key keys[] = {
    {"model", "model.name", "a model of `orrery list models`"},
    {"hf", of_hugging_face, "a model's Hugging Face config.json"},
    {"cluster", "cluster.preset", "a cluster of `orrery list clusters`"},
    {"gpu", "cluster.gpu", "its GPUs, of `orrery list gpus`; without --cluster their vendor's usual nodes"},
    {"nodes", "cluster.nodes", "its nodes"},
    {"tensor", "strategy.tensor", "tensor-parallel ranks"},
    {"context", "strategy.context", "context-parallel ranks"},
    {"pipeline", "strategy.pipeline", "pipeline stages"},
    {"virtual-pipeline", "strategy.virtual_pipeline", "chunks of a stage"},
    {"data", "strategy.data", "data-parallel ranks; as many as the GPUs hold when absent"},
    {"expert", "strategy.expert", "expert-parallel ranks"},
    {"sharding", "strategy.sharding", "none, zero1, zero2 or zero3"},
    {"recompute", "strategy.recompute", "none, selective or full"},
    {"micro-batch", "training.micro_batch_size", "sequences of a micro-batch"},
    {"global-batch", "training.global_batch_size", "sequences of a step"},
    {"seq-length", "training.seq_length", "tokens of a sequence"},
    {"precision", "training.precision", "fp32, tf32, fp16, bf16, fp8 or fp4"},
    {"tokens", "outputs.token_budget", "tokens to train on, as in 300B"},
};

}  // namespace

std::span<const UsualKeys::Key> UsualKeys::all() { return keys; }

void UsualKeys::set(std::string_view name, std::string value) {
    const auto key = std::ranges::find(keys, name, &Key::name);
    if (key == std::end(keys)) {
        std::vector<std::string_view> names{"gpus"};
        for (const Key& each : keys) names.push_back(each.name);
        throw Error(fmt::format("\"{}\" is no usual key of a scenario", name),
                    fmt::format("nearest: {}", join(nearest(name, names, 1))));
    }
    values_[key->name] = std::move(value);
}

std::vector<Override> UsualKeys::said() const {
    std::vector<Override> list;
    for (const Key& key : keys)
        if (const auto value = values_.find(key.name); value != values_.end())
            list.push_back({key.path, value->second});
    return list;
}

std::vector<Override> UsualKeys::changes(const nlohmann::json& document, const std::string& file) const {
    std::vector<Override> list = said();
    if (std::filesystem::path(file).has_parent_path())
        for (Override& change : list)
            if (change.path == of_hugging_face) change.value = std::filesystem::absolute(change.value).string();
    if (gpus_ == 0) return list;
    if (values_.contains("nodes")) throw Error("--gpus and --nodes say the same", "give one of them");
    const ClusterSize size = size_of(load_cluster(document, file, list));
    const bool part = gpus_ < size.gpus_per_node && size.more_nodes == 0;
    if (!part && gpus_ % size.gpus_per_node != 0)
        throw Error(
            fmt::format("--gpus {} is no whole number of nodes of {}", gpus_, size.gpus_per_node),
            fmt::format("take less than {} or a multiple of it, or --nodes and --data for fewer ranks than GPUs",
                        size.gpus_per_node));
    if (part) list.push_back({"cluster.gpus_per_node", std::to_string(gpus_)});
    list.push_back({"cluster.nodes", std::to_string(size.nodes_for(gpus_))});
    return list;
}

std::string UsualKeys::words() const {
    std::string text;
    for (const Key& key : keys)
        if (const auto value = values_.find(key.name); value != values_.end())
            text += fmt::format(" --{} {}", key.name, shell_word(value->second));
    if (gpus_ > 0) text += fmt::format(" --gpus {}", gpus_);
    return text;
}

std::string UsualKeys::name() const {
    const auto said = [&](std::string_view key, const std::string& otherwise) {
        const auto value = values_.find(key);
        return value == values_.end() ? otherwise : value->second;
    };
    return said("model", said("hf", "a model")) + " on " + said("cluster", said("gpu", "a cluster"));
}

namespace {

/// Throws Error for a name that means no GPU.
std::string_view nodes_of(const std::string& gpu, const std::string& source) {
    try {
        (void)topology::find_gpu(gpu);
    } catch (const Error& error) {
        throw error.in_file(source);
    }
    return topology::usual_nodes(gpu);
}

}  // namespace

nlohmann::json UsualKeys::scenario(const std::string& source) const {
    nlohmann::json document{{"name", name()},
                            {"model", nlohmann::json::object()},
                            {"cluster", nlohmann::json::object()},
                            {"training", nlohmann::json::object()}};
    const auto gpu = values_.find("gpu");
    if (gpu != values_.end() && !values_.contains("cluster"))
        if (const std::string_view preset = nodes_of(gpu->second, source); !preset.empty())
            document["cluster"]["preset"] = preset;
    for (const Override& change : changes(document, source)) apply_override(document, change);
    return document;
}

}  // namespace orrery::scenarios
