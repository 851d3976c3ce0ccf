#include "validate/stated_keys.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
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

const Section& strategy_section() {
    static const Section section{
        .name = "strategy", .pointer = "/scenario/strategy", .keys = optional_keys(strategies::strategy_fields())};
    return section;
}

const Section& training_section() {
    static const Section section{
        .name = "training", .pointer = "/scenario/training", .keys = optional_keys(strategies::training_fields())};
    return section;
}

}  // namespace

void read_stated_keys(const Row& row, strategies::Plan& plan) {
    const nlohmann::json* stated = row.find("scenario");
    if (stated == nullptr) return;
    try {
        const documents::Reader reader(*stated, top_section(), row.id());
        documents::read_fields(reader.object("strategy", strategy_section()), strategies::strategy_fields(),
                               plan.strategy);
        documents::read_fields(reader.object("training", training_section()), strategies::training_fields(),
                               plan.training);
    } catch (const Error& error) {
        throw Skip(fmt::format("scenario refused at {}", error.pointer()));
    }
}

}  // namespace orrery::validate
