#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "planning/search/search.hpp"
#include "strategies/plan_fields.hpp"

namespace orrery::planning {

namespace {

/// from: what holds without changes; null: not known, so that every key is said.
template <class Struct>
void add_changes(std::span<const documents::Field<Struct>> fields, const std::string& section, const Struct* from,
                 const Struct& to, std::vector<scenarios::Override>& changes) {
    for (const documents::Field<Struct>& field : fields) {
        const documents::Setting wanted = field.get(to);
        if (from != nullptr && wanted == field.get(*from)) continue;
        const std::string path = fmt::format("{}.{}", section, field.key.name);
        if (!can_say(field.key, wanted)) {
            changes.push_back({path, "null"});  // what the key's absence means
            continue;
        }
        const nlohmann::ordered_json value = to_json(field.key, wanted);
        changes.push_back({path, value.is_string() ? value.get<std::string>() : value.dump()});
    }
}

}  // namespace

std::vector<scenarios::Override> settings(const SearchQuestion& question, const FoundPlan& plan) {
    std::vector<scenarios::Override> changes = question.sites.changes(plan.site);
    std::optional<strategies::Plan> own;
    try {
        own = question.sites.scenario(plan.site).plan;
    } catch (const Error&) {
        // The scenario's own plan is none on this cluster.
    }
    add_changes(strategies::strategy_fields(), "strategy", own ? &own->strategy : nullptr, plan.strategy, changes);
    if (!own || own->training.micro_batch != plan.micro_batch)
        changes.push_back({"training.micro_batch_size", std::to_string(plan.micro_batch)});
    return changes;
}

}  // namespace orrery::planning
