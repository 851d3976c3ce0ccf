// The table of keys is consistent.
#include "scenarios/keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/not_modelled.hpp"

namespace orrery::scenarios {
namespace {

TEST(Keys, NoSpellingOccursTwice) {
    std::set<std::pair<Place, std::string_view>> seen;
    for (const Key& key : keys()) EXPECT_TRUE(seen.emplace(key.place, key.name).second) << key.name;
    for (const Alias& alias : aliases())
        EXPECT_TRUE(seen.emplace(alias.place, alias.spelling).second) << alias.spelling;
}

TEST(Keys, BoundsAndChoicesFitTheKind) {
    for (const Key& key : keys()) {
        const bool bounded = key.kind == Kind::integer || key.kind == Kind::number || key.kind == Kind::bytes ||
                             key.kind == Kind::rate || key.kind == Kind::tokens;
        EXPECT_EQ(bounded, key.max > key.min) << key.name;
        EXPECT_EQ(key.kind == Kind::choice, !key.choices.empty()) << key.name;
    }
}

TEST(Keys, EveryAliasStandsForAKeyAndALegalValue) {
    for (const Alias& alias : aliases()) {
        const Key* key = find_key(alias.place, alias.name);
        ASSERT_TRUE(key) << alias.spelling;
        for (const std::string_view text : {alias.when_true, alias.when_false}) {
            if (text.empty()) continue;
            const auto value = nlohmann::json::parse(text);
            if (key->kind == Kind::boolean) {
                EXPECT_TRUE(value.is_boolean()) << alias.spelling;
            }
            if (key->kind == Kind::choice) {
                EXPECT_NE(std::ranges::find(key->choices, value.get<std::string>()), key->choices.end())
                    << alias.spelling;
            }
        }
    }
}

TEST(Keys, WhatIsNotModelledIsNoKeyAndNoValue) {
    for (const NotModelled& entry : not_modelled()) {
        const Key* const key = find_key(entry.place, entry.key);
        EXPECT_EQ(find_alias(entry.place, entry.key), nullptr) << entry.key;
        EXPECT_EQ(key == nullptr, entry.value.empty()) << entry.key << ' ' << entry.value;
        if (key != nullptr) {
            EXPECT_EQ(std::ranges::find(key->choices, entry.value), key->choices.end()) << entry.value;
        }
        EXPECT_EQ(find_not_modelled(entry.place, entry.key, entry.value), &entry) << "it stands there twice";
        EXPECT_FALSE(entry.what.empty() || entry.instead.empty()) << entry.key;
    }
}

TEST(Keys, TheNearestKeyIsNamed) {
    EXPECT_EQ(nearest_key(Place::strategy, "tensr"), "tensor");
    EXPECT_EQ(nearest_key(Place::strategy, "tensor-model-parallel-size"), "tensor_model_parallel_size");
    EXPECT_EQ(nearest_key(Place::training, "seq_len"), "seq_length");
    EXPECT_EQ(nearest_key(Place::document, "Model"), "model");
    EXPECT_FALSE(nearest_key(Place::cluster, std::string(100000, 'x')).empty());
}

TEST(Keys, AKeyInTheWrongObjectIsFound) {
    EXPECT_EQ(places_of("micro_batch_size"), std::vector{Place::training});
    EXPECT_EQ(places_of("name"), (std::vector{Place::document, Place::model}));
    EXPECT_TRUE(places_of("nothing").empty());
}

}  // namespace
}  // namespace orrery::scenarios
