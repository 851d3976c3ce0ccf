// What rows of published measurements say of a model and a strategy: by the keys' own description, or by rule.
#pragma once

#include <span>
#include <string_view>

#include "documents/fields.hpp"
#include "validate/row.hpp"

namespace orrery::validate {

/// What stands at the key's path (Key::published). Throws Skip as Row's accessors do.
documents::Setting stated(const Row& row, const documents::Key& key);

/// Sets the fields that the row says as they are; the others stay.
template <class Struct>
void read_published(const Row& row, std::span<const documents::Field<Struct>> fields, Struct& to) {
    for (const documents::Field<Struct>& field : fields)
        if (!field.key.published.empty() && row.has(field.key.published)) field.set(to, stated(row, field.key));
}

/// A field that no row says as it is, and what sets it, unless the row states it under `scenario` (stated_keys.hpp).
struct FieldRule {
    std::string_view section, key, rule;
};
/// The rule of fields that keep their default (tests/validate/carried_rows_test.cpp).
inline constexpr std::string_view never_published = "never published: the default";
/// Every field of model, strategy and training has a path or one of these.
std::span<const FieldRule> field_rules();

}  // namespace orrery::validate
