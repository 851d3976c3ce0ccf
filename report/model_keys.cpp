#include "report/model_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "documents/write_fields.hpp"
#include "models/catalog.hpp"
#include "models/model_fields.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;

/// The catalog's model of that name; nullptr when there is none.
const models::ModelSpec* of_catalog(std::string_view name) {
    const auto& all = models::catalog();
    const auto found = std::ranges::find(all, name, &models::ModelSpec::name);
    return found == all.end() ? nullptr : &*found;
}

}  // namespace

nlohmann::ordered_json model_keys(const models::ModelSpec& m) {
    Json model = documents::write_fields(models::model_fields(), m);
    model.erase("dropout");  // training says it
    // The catalog knows the family of its models, and scenario files may not say it again.
    if (of_catalog(m.name) != nullptr) model.erase("model_type");
    return model;
}

std::string model_title(const models::ModelSpec& model) {
    constexpr std::size_t most = 3;  // changes that are shown
    const models::ModelSpec* const shipped = of_catalog(model.name);
    if (shipped == nullptr || *shipped == model) return model.name;
    const Json was = model_keys(*shipped), is = model_keys(model);
    std::vector<std::string> changes;
    for (const auto& [key, value] : is.items())
        if (!was.contains(key) || was[key] != value) changes.push_back(fmt::format("{} {}", key, value.dump()));
    if (changes.empty()) return model.name;
    const std::size_t more = changes.size() > most ? changes.size() - most : 0;
    changes.resize(changes.size() - more);
    return fmt::format("{} with {}{}", model.name, join(changes), more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace orrery::report
