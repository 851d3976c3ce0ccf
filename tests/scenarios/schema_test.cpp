// scenario.schema.json and the loader agree: same keys, same kinds, same bounds, same verdict on every file.
#include "scenarios/schema.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "documents/document.hpp"
#include "scenarios/scenario.hpp"
#include "tests/scenarios/bad_scenarios.hpp"
#include "tests/scenarios/expect_error.hpp"
#include "tests/scenarios/random_scenario.hpp"
#include "tests/scenarios/shipped.hpp"

namespace orrery::scenarios {
namespace {

using documents::parse_document;
using documents::read_document;
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

std::string content_of(const char* file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// A generated file is as it would be generated now; UPDATE_GOLDEN=1 writes it.
void expect_generated(const char* file, const std::string& text) {
    if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(file, std::ios::binary) << text;
    EXPECT_EQ(content_of(file), text) << "run with UPDATE_GOLDEN=1 and review the difference of " << file;
}

TEST(Schema, IsGeneratedFromTheKeys) { expect_generated("scenarios/scenario.schema.json", schema().dump(4) + "\n"); }

TEST(Schema, TheReferenceOfKeysIsGenerated) { expect_generated("docs/scenario.md", key_reference()); }

/// Every property of every object, without other programs' spellings.
TEST(Schema, TheReferenceNamesEveryKeyOfTheSchema) {
    const std::string text = content_of("docs/scenario.md");
    for (const KeyWords& key : keys_in_words()) {
        EXPECT_NE(text.find("| `" + key.key + "` |"), text.npos) << key.key;
        const json::json_pointer at(key.object == "scopes"
                                        ? "/definitions/scope"
                                        : "/properties/" + (key.object.empty() ? key.key : key.object));
        ASSERT_TRUE(schema_text().contains(at)) << at.to_string();
        if (key.object.empty()) continue;
        const json& object =
            schema_text().at(at).contains("items") ? schema_text().at(at).at("items") : schema_text().at(at);
        EXPECT_TRUE(object.at("properties").contains(key.key)) << key.object << '.' << key.key;
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

TEST(Schema, KnowsTheFormsOfScopes) {
    const auto accepts = [](const char* scopes) {
        json document = sound_scenario();
        document["strategy"] = {{"scopes", json::parse(scopes)}};
        return schema_accepts(document);
    };
    for (const char* scopes :
         {R"({"replica": 8})", R"([{"replica": 8}, {"split": 8, "of": "experts"}])",
          R"({"replica": 2, "of": [{"replica": 4, "of": "backbone"}, {"split": 4, "of": "classifier"}]})",
          R"({"pipeline": [{"stage": "0-7", "of": {"split": 2}}, {"stage": "8 layers"}], "num_micro_batch": 4})",
          R"({"auto_parallel": "pipeline", "num_stages": 4, "strategy": "PreferForward"})"})
        EXPECT_TRUE(accepts(scopes)) << scopes;
    for (const char* scopes :
         {"{}", "[]", R"("replica")", R"(["layers"])", R"({"of": "layers"})", R"({"replica": 2, "split": 4})",
          R"({"replica": 2, "of": "embedding"})", R"({"replica": 2, "of": {"of": "layers"}})", R"({"pipeline": []})",
          R"({"pipeline": [7]})", R"({"pipeline": {"stage": "0-7"}})", R"({"stage": 8})"})
        EXPECT_FALSE(accepts(scopes)) << scopes;
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
