#include "validate/stated_keys.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "documents/reader.hpp"
#include "strategies/plan_fields.hpp"

namespace orrery::validate {

namespace {

using documents::Key;
using documents::Section;

/// A row states some of an object's keys, whatever a scenario file must have.
template <class Struct>
std::vector<Key> optional_keys(std::span<const documents::Field<Struct>> fields) {
    std::vector<Key> keys = documents::keys_of(fields);
    for (Key& key : keys) key.required = false;
    return keys;
}

const Section& top_section() {
    static const Section section{.name = "scenario",
                                 .pointer = "/scenario",
                                 .keys = {Key{.name = "strategy", .kind = documents::Kind::object},
                                          Key{.name = "training", .kind = documents::Kind::object}}};
    return section;
}

/// at: where the object stands in a row, under its own name.
template <class Struct>
void read_object(const documents::Reader& row, std::string_view at, std::span<const documents::Field<Struct>> fields,
                 Struct& to) {
    static const Section section{.name = at.substr(at.rfind('/') + 1), .pointer = at, .keys = optional_keys(fields)};
    documents::read_fields(row.object(section.name, section), fields, to);
}

}  // namespace

void read_stated_keys(const Row& row, strategies::Plan& plan) {
    const nlohmann::json* stated = row.find("scenario");
    if (stated == nullptr) return;
    try {
        const documents::Reader reader(*stated, top_section(), row.id());
        read_object(reader, "/scenario/strategy", strategies::strategy_fields(), plan.strategy);
        read_object(reader, "/scenario/training", strategies::training_fields(), plan.training);
    } catch (const Error& error) {
        throw Skip(fmt::format("scenario refused at {}", error.pointer()));
    }
}

}  // namespace orrery::validate
