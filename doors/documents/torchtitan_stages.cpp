#include "doors/documents/torchtitan_stages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <vector>

#include "doors/meaning.hpp"
#include "models/catalog.hpp"

namespace orrery::doors {

namespace {

using Json = nlohmann::ordered_json;
using Counts = std::vector<std::uint64_t>;

constexpr std::string_view layer_prefix = "layers.";

/// Of "layers.7": 7.
std::optional<std::uint64_t> layer_of(const Json& module) {
    if (!module.is_string()) return std::nullopt;
    const auto& name = module.get_ref<const std::string&>();
    if (!name.starts_with(layer_prefix)) return std::nullopt;
    return whole_number(Json(name.substr(layer_prefix.size())));
}

/// 0 where the model is none of the catalog.
std::uint64_t layers_of_model(const Draft& draft) {
    const Json* name = draft.find("/model/name");
    if (name == nullptr || !name->is_string()) return draft.whole("/model/num_hidden_layers", 0);
    const auto known = models::catalog();
    const auto found = std::ranges::find(known, name->get<std::string>(), &models::ModelSpec::name);
    return found == known.end() ? 0 : found->layers;
}

/// "layers.2,layers.4" of older files, or a list.
Json list_of(const Json& points) {
    if (!points.is_string()) return points;
    Json list = Json::array();
    std::istringstream names(points.get<std::string>());
    for (std::string name; std::getline(names, name, ',');) {
        std::erase(name, ' ');
        list.push_back(name);
    }
    return list;
}

/// Layers between points; empty where they are none, or none that follow each other.
Counts between(const Json& points, std::uint64_t layers) {
    Counts parts;
    std::uint64_t begun = 0;
    for (const Json& point : points) {
        const auto layer = layer_of(point);
        if (!layer || *layer < begun || *layer > layers) return {};
        parts.push_back(*layer - begun);
        begun = *layer;
    }
    parts.push_back(layers - begun);
    return parts;
}

/// Layers of lists of modules; other modules (embedding, norm, output) stand at the ends by themselves.
Counts within(const Json& modules) {
    Counts parts;
    std::uint64_t next = 0;
    for (const Json& part : modules) {
        if (!part.is_array()) return {};
        const std::uint64_t first = next;
        for (const Json& module : part) {
            const auto layer = layer_of(module);
            if (layer && *layer != next++) return {};
        }
        parts.push_back(next - first);
    }
    return parts;
}

void set_stages(const Given& said, const Counts& parts, Draft& draft) {
    const auto refuse = [&](const std::string& what) {
        draft.findings.refuse(said.origin.place, said.origin.name, what, "--set strategy.pipeline_layers=N,N,...");
    };
    const std::uint64_t stages = std::max<std::uint64_t>(1, draft.whole("/strategy/pipeline", 1));
    if (parts.empty()) return refuse("names no layers that follow each other to the model's last");
    if (parts.size() % stages != 0)
        return refuse(fmt::format("{} parts do not divide among {} stages", parts.size(), stages));
    const Json* schedule = draft.find("/strategy/schedule");
    if (schedule != nullptr && (*schedule == "dualpipe-v" || *schedule == "zb-v"))
        return refuse("parts in a V are not taken over");
    if (parts.size() > stages)
        set_key("/strategy/virtual_pipeline", {said.name, parts.size() / stages, said.origin}, draft);
    draft.set("/strategy/pipeline_layers", fmt::format("{}", fmt::join(parts, ",")), said.origin);
}

}  // namespace

void read_torchtitan_stages(const Givens& given, Draft& draft) {
    if (draft.whole("/strategy/pipeline", 1) == 1) return;
    if (const Given* const parts = given.find("parallelism.module_fqns_per_model_part")) {
        if (!parts->value.is_array() || parts->value.empty()) return;
        return set_stages(*parts, within(parts->value), draft);
    }
    const Given* const points =
        given.find_any({"parallelism.pipeline_parallel_split_points", "experimental.pipeline_parallel_split_points"});
    if (points == nullptr) return;
    const Json list = list_of(points->value);
    if (!list.is_array() || list.empty()) return;
    const std::uint64_t layers = layers_of_model(draft);
    if (layers == 0)
        return draft.findings.refuse(points->origin.place, points->origin.name,
                                     "what its last part has is not known: the model is none of the catalog",
                                     "--set strategy.pipeline_layers=N,N,...");
    set_stages(*points, between(list, layers), draft);
}

}  // namespace orrery::doors
