// A field of a model, a strategy or a training that is described once is known everywhere: none may be missing
// anywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "models/catalog.hpp"
#include "models/model_fields.hpp"
#include "report/json.hpp"
#include "run/plan_file.hpp"
#include "scenarios/keys.hpp"
#include "scenarios/schema.hpp"
#include "strategies/plan_fields.hpp"
#include "tests/report/sample.hpp"
#include "validate/published.hpp"
#include "validate/scenario_key.hpp"

namespace orrery::report {
namespace {

using documents::Field;
using documents::Key;
using documents::Kind;
using documents::Setting;
using nlohmann::json;

/// Something else that the key can say.
Setting another(const Key& key, const Setting& than) {
    switch (key.kind) {
        case Kind::boolean: return !std::get<bool>(than);
        case Kind::text: return std::string("something else");
        case Kind::number: return std::get<double>(than) == key.max ? key.min : key.max;
        case Kind::integers: return std::vector<std::uint64_t>(key.entries, static_cast<std::uint64_t>(key.max));
        case Kind::choice:
            for (const documents::Word& word : key.words)
                if (word.value != std::get<std::uint64_t>(than)) return std::uint64_t{word.value};
            break;
        default: break;
    }
    const auto most = static_cast<std::uint64_t>(key.max);
    return std::get<std::uint64_t>(than) == most ? most - 1 : most;
}

/// What every place must show of one field of a section: it is called for a scenario where the field is another.
template <class Struct>
void expect_known_everywhere(const std::string& section, std::span<const Field<Struct>> fields,
                             Struct& (*of)(scenarios::Scenario&)) {
    const json schema = json::parse(scenarios::schema().dump());
    std::set<std::string_view> ruled;
    for (const validate::FieldRule& rule : validate::field_rules())
        if (rule.section == section) {
            EXPECT_TRUE(ruled.insert(rule.key).second) << "two rules of " << rule.key;
        }
    for (const Field<Struct>& field : fields) {
        const std::string name(field.key.name);
        SCOPED_TRACE(section + '.' + name);
        scenarios::Scenario usual = sample_scenario();
        usual.plan.model.name = "no model of the catalog";  // whose family would go without saying
        scenarios::Scenario changed = usual;
        field.set(of(changed), another(field.key, field.get(of(usual))));

        const bool of_both = name == "dropout";  // the model's, which a scenario says in its training
        const std::string stated_in = of_both ? "training" : section;
        EXPECT_TRUE(schema.contains(json::json_pointer("/properties/" + stated_in + "/properties/" + name)));
        const json before = resolved(usual), after = resolved(changed);
        ASSERT_TRUE(after.at(stated_in).contains(name)) << "resolved";
        EXPECT_NE(after.at(stated_in).value(name, json()), before.at(stated_in).value(name, json())) << "resolved";
        const json plan = json::parse(run::to_json({"x", changed.plan, {}}));
        ASSERT_TRUE(plan.at(section).contains(name)) << "plan file";
        if (name != "name") {
            EXPECT_NE(validate::scenario_key(changed), validate::scenario_key(usual)) << "equal scenarios";
        }
        EXPECT_NE(field.key.published.empty(), !ruled.contains(name))
            << "rows say it as it is (Key::published), or a rule of validate/published.cpp sets it";
        ruled.erase(name);
    }
    EXPECT_EQ(ruled, std::set<std::string_view>{}) << "rules of fields that are not there";
}

TEST(EveryField, OfAModelIsKnownEverywhere) {
    expect_known_everywhere<models::ModelSpec>(
        "model", models::model_fields(), [](scenarios::Scenario& s) -> models::ModelSpec& { return s.plan.model; });
}

TEST(EveryField, OfAStrategyIsKnownEverywhere) {
    expect_known_everywhere<strategies::Strategy>(
        "strategy", strategies::strategy_fields(),
        [](scenarios::Scenario& s) -> strategies::Strategy& { return s.plan.strategy; });
}

TEST(EveryField, OfATrainingIsKnownEverywhere) {
    expect_known_everywhere<strategies::Training>(
        "training", strategies::training_fields(),
        [](scenarios::Scenario& s) -> strategies::Training& { return s.plan.training; });
}

/// A path is read by its key's kind.
TEST(EveryField, ThatRowsSayIsSetFromThem) {
    const json row{{"id", "x"}, {"model", json::object()}};
    const auto expect_set = [&]<class Struct>(std::span<const Field<Struct>> fields) {
        for (const Field<Struct>& field : fields) {
            if (field.key.published.empty()) continue;
            SCOPED_TRACE(field.key.name);
            json stated = row;
            std::string pointer = '/' + std::string(field.key.published);
            std::ranges::replace(pointer, '.', '/');
            const Struct usual{};
            Setting value = another(field.key, field.get(usual));
            if (field.key.kind == Kind::integer) value = std::uint64_t{7};
            stated[json::json_pointer(pointer)] = json::parse(to_json(field.key, value).dump());
            Struct read{};
            validate::read_published(validate::Row("sample", 0, stated), fields, read);
            EXPECT_EQ(field.get(read), value);
        }
    };
    expect_set(models::model_fields());
    expect_set(strategies::strategy_fields());
    expect_set(strategies::training_fields());
}

}  // namespace
}  // namespace orrery::report
