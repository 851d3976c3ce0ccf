#include "doors/documents/flatten.hpp"

#include <fmt/format.h>

#include "documents/document.hpp"
#include "documents/message.hpp"

namespace orrery::doors {

namespace {

using Json = nlohmann::ordered_json;

void flatten(const Json& object, const std::string& path, const std::string& at, const std::string& file, Givens& to) {
    for (const auto& [key, value] : object.items()) {
        const std::string name = path.empty() ? key : fmt::format("{}.{}", path, key);
        const std::string pointer = documents::child_pointer(at, key);
        if (value.is_object() && !value.empty())
            flatten(value, name, pointer, file, to);
        else
            to.add({name, value, {{file, pointer}, documents::printable(name)}});
    }
}

}  // namespace

Json read_json(const std::string& file) { return Json(documents::read_document(file)); }

Givens flattened(const Json& document, const std::string& file) {
    if (!document.is_object())
        throw Error(file, "", fmt::format("must hold keys and values, found {}", document.type_name()),
                    "give a configuration file");
    Givens givens;
    flatten(document, "", "", file, givens);
    return givens;
}

}  // namespace orrery::doors
