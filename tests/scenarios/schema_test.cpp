// scenario.schema.json and the loader agree: same keys, same kinds, same bounds, same verdict on every file.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "scenarios/document.hpp"
#include "scenarios/keys.hpp"
#include "scenarios/scenario.hpp"
#include "tests/scenarios/bad_scenarios.hpp"
#include "tests/scenarios/expect_error.hpp"
#include "tests/scenarios/random_scenario.hpp"
#include "tests/scenarios/shipped.hpp"

namespace orrery::scenarios {
namespace {

using nlohmann::json;

const json& schema_text() {
    static const json text = read_document("scenarios/scenario.schema.json");
    return text;
}

bool schema_accepts(const json& document) {
    static const valijson::Schema* schema = [] {
        static valijson::Schema parsed;
        valijson::SchemaParser(valijson::SchemaParser::kDraft7)
            .populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_text()), parsed);
        return &parsed;
    }();
    valijson::Validator validator(valijson::Validator::kStrongTypes);
    return validator.validate(*schema, valijson::adapters::NlohmannJsonAdapter(document), nullptr);
}

/// What the schema says of an object; of one in a list, of each.
const json& object_of(Place place) {
    if (place == Place::document) return schema_text();
    const json& entry = schema_text()["properties"][pointer(place).substr(1)];
    return entry["type"] == "array" ? entry["items"] : entry;
}

const json& properties_of(Place place) { return object_of(place)["properties"]; }

/// The schema's entry must say what the table says.
void expect_same(const Key& key, const json& entry) {
    SCOPED_TRACE(std::string(pointer(key.place)) + "/" + std::string(key.name));
    static const std::map<Kind, std::string> types{
        {Kind::object, "object"},   {Kind::objects, "array"},   {Kind::text, "string"},  {Kind::texts, "array"},
        {Kind::boolean, "boolean"}, {Kind::integer, "integer"}, {Kind::number, "number"}};
    static const std::map<Kind, std::string> definitions{
        {Kind::bytes, "bytes"}, {Kind::rate, "rate"}, {Kind::tokens, "tokens"}};
    if (types.contains(key.kind)) {
        EXPECT_EQ(entry.at("type"), types.at(key.kind));
    }
    if (key.kind == Kind::named_texts) {
        EXPECT_EQ(entry.at("type"), json({"string", "object"}));
    }
    if (definitions.contains(key.kind)) {
        EXPECT_EQ(entry.at("$ref"), "#/definitions/" + definitions.at(key.kind));
    }
    if (key.kind == Kind::choice) {
        EXPECT_EQ(entry.at("enum"), json(std::vector<std::string>(key.choices.begin(), key.choices.end())));
    }
    if (key.kind == Kind::integer || key.kind == Kind::number) {
        EXPECT_EQ(entry.at("minimum").get<double>(), key.min);
        EXPECT_EQ(entry.at("maximum").get<double>(), key.max);
    }
}

TEST(Schema, HasTheKeysOfTheLoaderAndNoOthers) {
    std::map<Place, std::set<std::string>> spellings;
    for (const Key& key : keys()) spellings[key.place].emplace(key.name);
    for (const Alias& alias : aliases()) spellings[alias.place].emplace(alias.spelling);
    for (const auto& [place, known] : spellings) {
        std::set<std::string> written;
        for (const auto& [name, entry] : properties_of(place).items()) written.insert(name);
        EXPECT_EQ(written, known) << pointer(place);
    }
}

TEST(Schema, RefusesUnknownKeysEverywhere) {
    for (const Place place : {Place::document, Place::model, Place::cluster, Place::strategy, Place::training,
                              Place::outputs, Place::perturbations, Place::other_job})
        EXPECT_EQ(object_of(place)["additionalProperties"], false) << pointer(place);
}

TEST(Schema, HasTheKindsAndBoundsOfTheLoader) {
    for (const Key& key : keys()) expect_same(key, properties_of(key.place).at(std::string(key.name)));
}

TEST(Schema, RequiresWhatTheLoaderRequires) {
    std::map<Place, std::set<std::string>> required;
    for (const Key& key : keys()) {
        if (key.required) required[key.place].emplace(key.name);
    }
    for (const auto& [place, names] : required) {
        EXPECT_EQ(object_of(place).at("required").get<std::set<std::string>>(), names) << pointer(place);
    }
}

TEST(Schema, AliasesReferToTheirKeys) {
    for (const Alias& alias : aliases()) {
        const json& entry = properties_of(alias.place).at(std::string(alias.spelling));
        if (alias.is_switch()) {
            EXPECT_EQ(entry.at("type"), "boolean") << alias.spelling;
        } else {
            const std::string place(pointer(alias.place).substr(1));
            EXPECT_EQ(entry.at("$ref"), "#/properties/" + place + "/properties/" + std::string(alias.name));
        }
    }
}

TEST(Schema, AcceptsEveryShippedScenario) {
    for (const auto& file : shipped_scenarios()) EXPECT_TRUE(schema_accepts(read_document(file))) << file;
}

TEST(Schema, AcceptsRandomLegalScenarios) {
    std::mt19937_64 random(20);
    for (int i = 0; i < 50; ++i) {
        const json document = random_scenario(random);
        EXPECT_TRUE(schema_accepts(document)) << document;
    }
}

TEST(Schema, RefusesEveryStructuralFaultOfTheCorpus) {
    EXPECT_TRUE(schema_accepts(sound_scenario()));
    std::size_t checked = 0;
    for (const BadScenario& bad : bad_scenarios()) {
        if (!bad.structural) continue;
        std::optional<json> document;
        (void)error_of([&] { document = parse_document(bad.bytes, bad.name); });
        if (!document) continue;  // no JSON at all: nothing for a schema to judge
        ++checked;
        EXPECT_FALSE(schema_accepts(*document)) << bad.name;
    }
    EXPECT_GE(checked, 200U);
}

TEST(Schema, ReadsQuantitiesAsTheLoaderDoes) {
    const auto agree = [](const char* at, const std::string& text) {
        json document = sound_scenario();
        document["cluster"] = {{"preset", "ethernet"}, {"nodes", 4}, {"gpu", "A100"}, {"gpus_per_node", 8}};
        document[json::json_pointer(at)] = text;
        const auto error = error_of([&] { (void)from_json(document, "x.json"); });
        EXPECT_EQ(schema_accepts(document), !error) << at << " " << text << (error ? error->what() : "");
    };
    for (const char* text :
         {"160 MB", "160MB", "1.5 GiB", "2e3 kB", ".5 GB", "3. GB", "160  MB", "160 mb", "MB", "160", " 160 MB",
          "160 MB ", "+1 GB", "1,5 GB", "160 MiB/s", "160 Ki B", "1e3kB", "0x10 MB", ""}) {
        agree("/strategy/bucket_size", text);
    }
    for (const char* text :
         {"100 Gb/s", "12.5 GB/s", "1 Gib/s", "100 Gbps", "100 GB", "1e2 Gb/s", "100 gb/s", "Gb/s", "1 s"}) {
        agree("/cluster/nic_rate", text);
    }
    for (const char* text :
         {"300B", "300 B", "1.5T", "5e9", "2k", "300b", "300 Billion", "B", "", "-1B", "7G", "7 GB"}) {
        agree("/outputs/token_budget", text);
    }
}

}  // namespace
}  // namespace orrery::scenarios
