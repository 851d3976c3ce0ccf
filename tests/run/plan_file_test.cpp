// A plan file says a plan exactly, and nothing else than a plan: every field, by the table that describes it.
#include "run/plan_file.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.hpp"
#include "documents/write_fields.hpp"
#include "models/model_fields.hpp"
#include "strategies/plan_fields.hpp"
#include "tests/run/ranks.hpp"
#include "tests/scenarios/expect_error.hpp"

namespace orrery::run {
namespace {

using documents::Field;
using documents::Key;
using documents::Kind;
using documents::Setting;
using nlohmann::json;
using scenarios::expect_error;

RunPlan sound() { return {"sound", small_plan(2, 4), {}}; }

json document() { return json::parse(to_json(sound())); }

RunPlan read(const json& changed) { return plan_from_json(changed.dump(), "plan.json"); }

/// A change to a sound plan is refused at its place.
void expect_refused(const char* pointer, const json& value, const char* mention) {
    json changed = document();
    changed[json::json_pointer(pointer)] = value;
    expect_error([&] { (void)read(changed); }, pointer, mention);
}

TEST(PlanFile, EnumerationsAreNames) {
    const json plan = document();
    EXPECT_EQ(plan["strategy"]["schedule"], "1f1b");
    EXPECT_EQ(plan["training"]["precision"], "fp32");
    EXPECT_EQ(plan["model"]["normalization"], "layernorm");
    expect_refused("/training/grad_reduce_precision", 100, "100 is unknown");
    expect_refused("/training/precision", -1, "-1 is unknown");
    expect_refused("/training/precision", "fp3", "fp3");
    expect_refused("/strategy/schedule", 1, "1 is unknown");
}

TEST(PlanFile, WholeNumbersAreWhole) {
    expect_refused("/model/num_hidden_layers", 4.7, "4.7 is not a whole number");
    expect_refused("/run/steps", 4294967298U, "4294967298 is out of range");
    expect_refused("/run/steps", 0, "0 is out of range");
    expect_refused("/run/warmup", -1, "-1 is out of range");
    expect_refused("/run/seed", 18446744073709551615U, "18446744073709551615 is out of range");
    expect_refused("/only_rank", 4294967296U, "4294967296 is out of range");
    expect_refused("/strategy/tensor", true, "true is not a whole number");
}

TEST(PlanFile, NumbersAreFinite) {
    std::string text = to_json(sound());
    text.replace(text.find("0.001"), 5, "1e999");
    expect_error([&] { (void)plan_from_json(text, "plan.json"); }, "", "overflow parsing '1e999'");
    expect_refused("/run/rate", "fast", "is not a number");
    expect_refused("/training/clip_grad", -1, "-1 is out of range");
    json changed = document();
    changed["kernel_seconds"] = {1.0, -2.0};
    expect_error([&] { (void)read(changed); }, "/kernel_seconds/1", "-2.0");
}

TEST(PlanFile, KeysAreKnownAndStandOnce) {
    expect_refused("/steps", 3, "unknown key");
    expect_refused("/run/step", 3, "unknown key");
    expect_refused("/model/layers", 3, "unknown key");
    std::string text = to_json(sound());
    const std::string once = "\"steps\": 20,";
    text.replace(text.find(once), once.size(), once + once);
    expect_error([&] { (void)plan_from_json(text, "plan.json"); }, "/run/steps", "twice");
}

TEST(PlanFile, OtherVersionsAreRefusedFirst) {
    json changed = document();
    changed["plan_version"] = 1;
    changed["model"] = 5;
    expect_error([&] { (void)read(changed); }, "/plan_version", "is 1", "same build");
}

TEST(PlanFile, ASettingThatCannotBeSaidIsNotWritten) {
    RunPlan plan = sound();
    plan.settings.adam.rate = -1;
    expect_error([&] { (void)to_json(plan); }, "/run/rate", "-1 is out of range");
}

/// Of a key's kind, but beyond its range or words.
json beyond(const Key& key) {
    switch (key.kind) {
        case Kind::integer:
        case Kind::number: return key.max + 1;
        case Kind::bytes: return "1e30 B";
        case Kind::choice: return "none of them";
        default: return {};
    }
}

/// Runs over all described fields of a plan file.
void for_each_key(const std::function<void(const std::string& pointer, const Key&)>& visit) {
    for (const Key& key : documents::keys_of(models::model_fields())) visit("/model/" + std::string(key.name), key);
    for (const Key& key : documents::keys_of(strategies::strategy_fields()))
        visit("/strategy/" + std::string(key.name), key);
    for (const Key& key : documents::keys_of(strategies::training_fields()))
        visit("/training/" + std::string(key.name), key);
}

TEST(PlanFile, EveryFieldIsReadStrictly) {
    std::size_t checked = 0;
    for_each_key([&](const std::string& pointer, const Key& key) {
        SCOPED_TRACE(pointer);
        expect_refused(pointer.c_str(), json::array(), "[]");
        expect_refused(pointer.c_str(), nullptr, "null");
        expect_refused((pointer + "_").c_str(), 1, "unknown key");
        if (const json value = beyond(key); !value.is_null()) expect_refused(pointer.c_str(), value, "");
        json lacking = document();
        const json::json_pointer place(pointer);
        if (lacking.contains(place)) {
            lacking.at(place.parent_pointer()).erase(std::string(key.name));
            if (pointer != "/model/name" && pointer != "/model/max_position_embeddings") {
                expect_error([&] { (void)read(lacking); }, pointer, "missing");
            }
        }
        ++checked;
    });
    EXPECT_EQ(checked, models::model_fields().size() + strategies::strategy_fields().size() +
                           strategies::training_fields().size());
}

/// A value that the key can say, at random.
Setting random_setting(const Key& key, const Setting& like, std::mt19937_64& random) {
    const auto share = [&] { return std::uniform_real_distribution(0.0, 1.0)(random); };
    if (key.kind == Kind::choice) return std::uint64_t{key.words[random() % key.words.size()].value};
    if (std::holds_alternative<std::uint64_t>(like))
        return static_cast<std::uint64_t>(key.min + share() * (key.max - key.min));
    if (std::holds_alternative<double>(like)) return key.min + share() * (key.max - key.min);
    if (std::holds_alternative<bool>(like)) return random() % 2 == 0;
    if (key.kind == Kind::integers) {
        std::vector<std::uint64_t> list(key.entries);
        for (std::uint64_t& each : list) each = static_cast<std::uint64_t>(key.min + share() * (key.max - key.min));
        return list;
    }
    return std::string("text ") + std::to_string(random());
}

/// Each field alone changes what is written, under its key only, and comes back from it; then all at once.
template <class Struct>
void expect_round_trips(std::span<const Field<Struct>> fields, std::mt19937_64& random) {
    const documents::Section section{.name = "all", .pointer = "", .keys = documents::keys_of(fields)};
    const Struct usual{};
    const auto again = [&](const Struct& value) {
        json text = json::parse(documents::write_fields(fields, value).dump());
        for (const Key& key : section.keys)  // keys of the section that must be given
            if (key.required && !text.contains(key.name))
                text[std::string(key.name)] = static_cast<std::uint64_t>(key.min);
        Struct back{};
        documents::read_fields(documents::Reader(text, section, "x.json"), fields, back);
        return back;
    };
    Struct all{};
    for (const Field<Struct>& field : fields) {
        SCOPED_TRACE(field.key.name);
        Struct one{};
        const Setting setting = random_setting(field.key, field.get(usual), random);
        field.set(one, setting);
        field.set(all, setting);
        EXPECT_EQ(field.get(one), setting);
        for (const Field<Struct>& other : fields)
            if (other.key.name != field.key.name) {
                EXPECT_EQ(other.get(one), other.get(usual)) << other.key.name;
            }
        EXPECT_EQ(field.get(again(one)), setting);
    }
    for (const Field<Struct>& field : fields) EXPECT_EQ(field.get(again(all)), field.get(all)) << field.key.name;
}

TEST(PlanFile, RandomFieldsComeBack) {
    const std::uint64_t seed = 11;
    std::mt19937_64 random(seed);
    for (int i = 0; i < 100; ++i) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << ", case " << i);
        expect_round_trips(models::model_fields(), random);
        expect_round_trips(strategies::strategy_fields(), random);
        expect_round_trips(strategies::training_fields(), random);
    }
}

/// Every word of every enumeration is read, and each value has a name that is written.
TEST(PlanFile, EnumerationsAreNamedWithoutGaps) {
    for_each_key([&](const std::string& pointer, const Key& key) {
        if (key.kind != Kind::choice || key.name == "grad_reduce_precision") return;  // not of every format
        std::uint8_t last = 0;
        for (const documents::Word& word : key.words) last = std::max(last, word.value);
        for (std::uint64_t value = 0; value <= last; ++value) EXPECT_TRUE(can_say(key, value)) << pointer << value;
    });
}

TEST(PlanFile, RandomPlansComeBack) {
    std::mt19937_64 random(12);
    for (int i = 0; i < 200; ++i) {
        RunPlan plan = sound();
        strategies::Strategy& strategy = plan.plan.strategy;
        strategies::Training& training = plan.plan.training;
        strategy.bucket_bytes = 1'000'000 + random() % 1'000'000'000;
        strategy.recompute = static_cast<strategies::Recompute>(random() % 3);
        strategy.overlap_grad_reduce = random() % 2 == 0;
        strategy.scatter_gather = random() % 2 == 0;
        strategy.sharding = random() % 2 == 0 ? strategies::Sharding::none : strategies::Sharding::zero1;
        training.grad_clip = std::uniform_real_distribution(0.0, 2.0)(random);
        training.fused_attention = random() % 2 == 0;
        plan.settings.steps = 2 + static_cast<std::uint32_t>(random() % 1000);
        plan.settings.seed = random() % (1ULL << 53U);
        plan.settings.adam.rate = std::uniform_real_distribution(0.0, 1.0)(random);
        if (random() % 2 == 0) plan.settings.data = "some text.txt";
        if (random() % 2 == 0) plan.settings.only_rank = static_cast<std::uint32_t>(random() % 8);
        if (random() % 2 == 0) plan.settings.kernel_seconds = {0.1, 1e-9, 3};
        const std::string text = to_json(plan);
        SCOPED_TRACE(text);
        const RunPlan back = plan_from_json(text, "plan.json");
        EXPECT_EQ(to_json(back), text);
        EXPECT_EQ(back.plan.model, plan.plan.model);
        EXPECT_EQ(back.settings.kernel_seconds, plan.settings.kernel_seconds);
        EXPECT_EQ(back.settings.only_rank, plan.settings.only_rank);
    }
}

}  // namespace
}  // namespace orrery::run
