// The fields of a struct written as a JSON object. Apart from documents/fields.hpp, as few need all of the JSON
// library.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "documents/fields.hpp"

namespace orrery::documents {

/// Every field that its key can say; a default that it cannot (0 of a range that begins at 1, an empty text) is what
/// the key's absence means. Throws Error with the key for any other value that no key can say.
template <class Struct>
nlohmann::ordered_json write_fields(std::span<const Field<Struct>> fields, const Struct& from) {
    auto object = nlohmann::ordered_json::object();
    const Struct usual{};
    for (const Field<Struct>& field : fields) {
        const Setting setting = field.get(from);
        if (can_say(field.key, setting)) {
            object[std::string(field.key.name)] = to_json(field.key, setting);
        } else if (setting != field.get(usual)) {
            throw out_of_range(field.key, setting, "");
        }
    }
    return object;
}

}  // namespace orrery::documents
