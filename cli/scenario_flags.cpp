#include "cli/scenario_flags.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "scenarios/override.hpp"
#include "topology/cluster.hpp"

namespace orrery::cli {

namespace {

struct Flag {
    const char* option;
    const char* path;
    const char* help;
};

/// In the order of a plan: what is trained, where, and how.
constexpr Flag flags[] = {
    {"--model", "model.name", "a model of `orrery list models`"},
    {"--hf", "model.hugging_face", "a model's Hugging Face config.json"},
    {"--cluster", "cluster.preset", "a cluster of `orrery list clusters`"},
    {"--gpu", "cluster.gpu", "its GPUs, of `orrery list gpus`"},
    {"--nodes", "cluster.nodes", "its nodes"},
    {"--tensor", "strategy.tensor", "tensor-parallel ranks"},
    {"--context", "strategy.context", "context-parallel ranks"},
    {"--pipeline", "strategy.pipeline", "pipeline stages"},
    {"--virtual-pipeline", "strategy.virtual_pipeline", "chunks of a stage"},
    {"--data", "strategy.data", "data-parallel ranks; as many as the GPUs hold when absent"},
    {"--expert", "strategy.expert", "expert-parallel ranks"},
    {"--sharding", "strategy.sharding", "none, zero1, zero2 or zero3"},
    {"--recompute", "strategy.recompute", "none, selective or full"},
    {"--micro-batch", "training.micro_batch_size", "sequences of a micro-batch"},
    {"--global-batch", "training.global_batch_size", "sequences of a step"},
    {"--seq-length", "training.seq_length", "tokens of a sequence"},
    {"--precision", "training.precision", "fp32, tf32, fp16, bf16 or fp8"},
    {"--tokens", "outputs.token_budget", "tokens to train on, as in 300B"},
};

}  // namespace

void ScenarioFlags::add_to(CLI::App& command, std::initializer_list<std::string_view> taken) {
    const std::string group = "Keys of the scenario, for which --set is not needed";
    const auto is_free = [&](std::string_view option) { return std::ranges::find(taken, option) == taken.end(); };
    for (const Flag& flag : flags) {
        if (!is_free(flag.option)) continue;
        const auto take = [this, option = flag.option](const std::string& value) { values_[option] = value; };
        command.add_option_function<std::string>(flag.option, take, flag.help)->type_name("")->group(group);
    }
    if (!is_free("--gpus")) return;
    command.add_option("--gpus", gpus_, "GPUs, in whole nodes")
        ->type_name("")
        ->check(CLI::Range(1U, 100'000'000U))
        ->group(group);
}

std::vector<scenarios::Override> ScenarioFlags::changes(const nlohmann::json& document, const std::string& file) const {
    std::vector<scenarios::Override> list;
    for (const Flag& flag : flags)
        if (const auto value = values_.find(flag.option); value != values_.end())
            list.push_back({flag.path, value->second});
    if (gpus_ == 0) return list;
    if (values_.contains("--nodes")) throw Error("--gpus and --nodes say the same", "give one of them");
    const std::uint32_t per_node = topology::build(scenarios::load_cluster(document, file, list)).gpus_per_node();
    if (gpus_ % per_node != 0)
        throw Error(fmt::format("--gpus {} is no whole number of nodes of {}", gpus_, per_node),
                    fmt::format("take a multiple of {}, or --nodes 1 and --data for fewer ranks than GPUs", per_node));
    list.push_back({"cluster.nodes", std::to_string(gpus_ / per_node)});
    return list;
}

std::string ScenarioFlags::words() const {
    std::string text;
    for (const Flag& flag : flags)
        if (const auto value = values_.find(flag.option); value != values_.end())
            text += fmt::format(" {} {}", flag.option, shell_word(value->second));
    if (gpus_ > 0) text += fmt::format(" --gpus {}", gpus_);
    return text;
}

std::string ScenarioFlags::name() const {
    const auto said = [&](const char* option, const char* otherwise) {
        const auto value = values_.find(option);
        return value == values_.end() ? std::string(otherwise) : value->second;
    };
    return said("--model", said("--hf", "a model").c_str()) + " on " + said("--cluster", "a cluster");
}

nlohmann::json ScenarioFlags::scenario() const {
    nlohmann::json document{{"name", name()},
                            {"model", nlohmann::json::object()},
                            {"cluster", nlohmann::json::object()},
                            {"training", nlohmann::json::object()}};
    for (const scenarios::Override& change : changes(document, std::string(no_file))) apply_override(document, change);
    return document;
}

}  // namespace orrery::cli
