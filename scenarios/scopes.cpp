#include "scenarios/scopes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "scenarios/keys.hpp"
#include "scenarios/model_section.hpp"
#include "scenarios/override.hpp"
#include "strategies/refusal.hpp"

namespace orrery::scenarios {

namespace {

using documents::Reader;
using nlohmann::json;

constexpr std::string_view schedule_key = "schedule", micro_batch_key = "micro_batch_size";

/// Keys of "strategy" that scopes stand for, whatever they say. `schedule`, which they may say, is not among them.
constexpr std::array<std::string_view, 11> division{"tensor",
                                                    "pipeline",
                                                    "data",
                                                    "expert",
                                                    "expert_tensor",
                                                    "split_classes",
                                                    "pipeline_layers",
                                                    "num_layers_in_first_pipeline_stage",
                                                    "num_layers_in_last_pipeline_stage",
                                                    "account_for_embedding_in_pipeline_split",
                                                    "account_for_loss_in_pipeline_split"};

/// The key that a change is of, by its own name; nullptr where it is of none of this section's, or of a part of one.
const documents::Key* key_of(const Override& change, Place place) {
    const documents::Section& in = section(place);
    const std::string at = pointer_of(change), prefix = std::string(in.pointer) + '/';
    return at.starts_with(prefix) ? find_spelled(in, std::string_view(at).substr(prefix.size())).key : nullptr;
}

bool is_behind(const Override& change) {
    if (const auto* key = key_of(change, Place::training)) return key->name == micro_batch_key;
    const auto* const key = key_of(change, Place::strategy);
    return key != nullptr && (key->name == schedule_key || std::ranges::find(division, key->name) != division.end());
}

bool has_scopes(const json& document) {
    return document.is_object() && document.contains("strategy") && document["strategy"].is_object() &&
           document["strategy"].contains("scopes");
}

/// Removes a key that stands in the document; false where it does not, or where the change does something else.
bool removes(json& document, const Override& change) {
    if (change.value != "null") return false;
    json without = document;
    apply_override(without, change);
    if (without == document) return false;
    document = std::move(without);
    return true;
}

void refuse_beside(const Reader& section, std::string_view key, const std::string& scope) {
    if (!section.has(key)) return;
    throw Error(section.file(), section.pointer(key), fmt::format("stands beside {}, which says the same", scope),
                fmt::format("leave it out, or scopes; --set {}.{}=... changes what scopes come to",
                            section.pointer().substr(1), key));
}

}  // namespace

Expansion::Expansion(const Reader& strategy, const Reader& training, const models::ModelSpec& model) {
    const Division all = read_scopes(strategy, model);
    for (const std::string_view key : division) {
        refuse_beside(strategy, key, strategy.pointer("scopes"));
        keys_.emplace(key, Key{std::nullopt, strategy.pointer("scopes")});
    }
    const auto say = [this](const char* key, const Said& said) {
        if (said.said()) keys_.insert_or_assign(key, Key{said.number, said.at});
    };
    say("data", all.replicas);
    say("tensor", all.tensor);
    say("expert", all.expert);
    say("split_classes", all.classes);
    say("expert_tensor", all.expert_tensor);
    if (!all.stages) return;
    const StagesSaid& stages = *all.stages;
    say("pipeline", stages.count);
    if (!stages.layers.empty())
        keys_.insert_or_assign("pipeline_layers",
                               Key{fmt::format("{}", fmt::join(stages.layers, ",")), stages.count.at});
    if (stages.schedule) {
        refuse_beside(strategy, schedule_key, stages.schedule_at);
        keys_.insert_or_assign(std::string(schedule_key),
                               Key{std::string(strategies::schedule_of(*stages.schedule).name), stages.schedule_at});
    }
    if (stages.micro_batches.said()) refuse_beside(training, micro_batch_key, stages.micro_batches.at);
    micro_batches_ = stages.micro_batches;
}

void Expansion::write(json& strategy) const {
    strategy.erase("scopes");
    for (const auto& [name, key] : keys_)
        if (key.value) strategy[name] = std::visit([](const auto& value) { return json(value); }, *key.value);
}

void Expansion::leave_to(const Override& change) {
    if (const auto* key = key_of(change, Place::strategy)) keys_.erase(std::string(key->name));
    if (const auto* key = key_of(change, Place::training); key != nullptr && key->name == micro_batch_key)
        micro_batches_ = {};
}

std::string Expansion::place(std::string_view pointer) const {
    constexpr std::string_view of_strategy = "/strategy/";
    if (pointer == "/training/micro_batch_size") return micro_batches_.at;
    if (!pointer.starts_with(of_strategy)) return "";
    const auto found = keys_.find(pointer.substr(of_strategy.size()));
    return found == keys_.end() ? "" : found->second.at;
}

void Expansion::divide_batch(strategies::Plan& plan) const {
    if (!micro_batches_.said()) return;
    const std::uint64_t all = micro_batches_.number * plan.strategy.data, batch = plan.training.global_batch;
    if (batch % all != 0)
        throw Error("", micro_batches_.at,
                    fmt::format("{} micro-batches of each of {} replicas do not divide the {} sequences of a step",
                                micro_batches_.number, plan.strategy.data, batch),
                    fmt::format("training.global_batch_size: {}", strategies::nearest_multiples(batch, all)));
    plan.training.micro_batch = static_cast<std::uint32_t>(batch / all);
}

json strategy_in_keys(const json& document, const std::filesystem::path& file) {
    json strategy = document.at("strategy");
    if (!has_scopes(document)) return strategy;
    const Reader top(document, section(Place::document), file.string());
    const Expansion scopes(top.object("strategy", section(Place::strategy)),
                           top.object("training", section(Place::training)),
                           read_model(top.object("model", section(Place::model))));
    scopes.write(strategy);
    return strategy;
}

std::vector<Override> apply_before_scopes(json& document, const std::vector<Override>& changes) {
    json all = document;
    for (const Override& change : changes) apply_override(all, change);
    std::vector<Override> behind;
    if (!has_scopes(all)) {
        document = std::move(all);
        return behind;
    }
    for (const Override& change : changes) {
        if (is_behind(change)) {
            if (!removes(document, change)) behind.push_back(change);
            continue;
        }
        apply_override(document, change);
        const std::string at = pointer_of(change) + '/';  // what replaces a section replaces what was changed in it
        std::erase_if(behind, [&](const Override& before) { return pointer_of(before).starts_with(at); });
    }
    return behind;
}

}  // namespace orrery::scenarios
