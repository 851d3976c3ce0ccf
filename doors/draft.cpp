#include "doors/draft.hpp"

#include <utility>

namespace orrery::doors {

using Json = nlohmann::ordered_json;

void Draft::set(const std::string& pointer, Json value, const Origin& origin) {
    const Json::json_pointer path(pointer), around = path.parent_pointer();
    // --set can put anything in the place of an object: the scenario's own readers then refuse that.
    if (scenario.contains(around) && !scenario.at(around).is_object()) return;
    scenario[path] = std::move(value);
    origins_[pointer] = origin;
}

void Draft::set_default(const std::string& pointer, Json value, const Origin& origin) {
    if (find(pointer) == nullptr) set(pointer, std::move(value), origin);
}

void Draft::erase(const std::string& pointer) {
    const Json::json_pointer path(pointer);
    if (scenario.contains(path) && scenario.at(path.parent_pointer()).is_object())
        scenario.at(path.parent_pointer()).erase(path.back());
    origins_.erase(pointer);
}

void Draft::want(const std::string& pointer, const Origin& origin, std::string what, std::string remedy) {
    wanted_.push_back({pointer, origin, std::move(what), std::move(remedy)});
}

const Json* Draft::find(const std::string& pointer) const {
    const Json::json_pointer path(pointer);
    return scenario.contains(path) ? &scenario.at(path) : nullptr;
}

std::uint64_t Draft::whole(const std::string& pointer, std::uint64_t fallback) const {
    const Json* const found = find(pointer);
    const bool counts = found != nullptr && (found->is_number_unsigned() ||
                                             (found->is_number_integer() && found->get<std::int64_t>() >= 0));
    return counts ? found->get<std::uint64_t>() : fallback;
}

bool Draft::is_true(const std::string& pointer) const {
    const Json* const found = find(pointer);
    return found != nullptr && found->is_boolean() && found->get<bool>();
}

const Origin* Draft::origin(std::string pointer) const {
    while (!pointer.empty()) {
        if (const auto found = origins_.find(pointer); found != origins_.end()) return &found->second;
        pointer.erase(pointer.find_last_of('/'));
    }
    return nullptr;
}

}  // namespace orrery::doors
