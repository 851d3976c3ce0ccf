#include "scenarios/title.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.hpp"
#include "documents/message.hpp"
#include "scenarios/override.hpp"

namespace orrery::scenarios {

namespace {

constexpr std::size_t most = 4;  // changes that are shown

bool is_named(std::string_view pointer) {
    return pointer == "/model" || pointer == "/cluster" || pointer.starts_with("/model/") ||
           pointer.starts_with("/cluster/");
}

}  // namespace

std::string title(const std::string& name, const std::vector<Override>& overrides) {
    const auto renames = [](const Override& change) { return pointer_of(change) == "/name"; };
    if (std::ranges::any_of(overrides, renames)) return name;
    std::vector<std::string> changes;
    for (const Override& change : overrides) {
        if (!is_named(pointer_of(change))) continue;
        changes.push_back(documents::printable(fmt::format("{}={}", change.path, change.value)));
    }
    if (changes.empty()) return name;
    const std::size_t more = changes.size() > most ? changes.size() - most : 0;
    changes.resize(changes.size() - more);
    return fmt::format("{}, with {}{}", name, join(changes), more > 0 ? fmt::format(" and {} more", more) : "");
}

}  // namespace orrery::scenarios
