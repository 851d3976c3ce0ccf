// The table of keys is consistent.
#include "scenarios/keys.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/not_modelled.hpp"

namespace orrery::scenarios {
namespace {

using documents::Key;
using documents::Kind;
using documents::Section;
using documents::Spelling;

TEST(Keys, NoSpellingOccursTwice) {
    for (const Section& section : sections()) {
        std::set<std::string_view> seen;
        for (const Key& key : section.keys) {
            EXPECT_TRUE(seen.emplace(key.name).second) << key.name;
            for (const Spelling& other : key.spellings()) EXPECT_TRUE(seen.emplace(other.name).second) << other.name;
        }
    }
}

TEST(Keys, BoundsAndWordsFitTheKind) {
    for (const Section& section : sections())
        for (const Key& key : section.keys) {
            const bool bounded = key.kind == Kind::integer || key.kind == Kind::number || key.kind == Kind::bytes ||
                                 key.kind == Kind::rate || key.kind == Kind::tokens || key.kind == Kind::integers ||
                                 key.kind == Kind::duration;
            EXPECT_EQ(bounded, key.max > key.min) << key.name;
            EXPECT_EQ(key.kind == Kind::choice, !key.words.empty()) << key.name;
        }
}

TEST(Keys, EveryKeyIsDescribed) {
    for (const Section& section : sections())
        for (const Key& key : section.keys) EXPECT_TRUE(key.help.ends_with(".")) << section.name << ' ' << key.name;
}

TEST(Keys, EverySwitchStandsForALegalValue) {
    for (const Section& section : sections())
        for (const Key& key : section.keys)
            for (const Spelling& other : key.spellings())
                for (const std::string_view text : {other.when_true, other.when_false}) {
                    if (text.empty()) continue;
                    const auto value = nlohmann::json::parse(text);
                    EXPECT_EQ(value.is_boolean(), key.kind == Kind::boolean) << other.name;
                    if (key.kind != Kind::choice) continue;
                    EXPECT_NE(std::ranges::find(key.words, value.get<std::string>(), &documents::Word::name),
                              key.words.end())
                        << other.name;
                }
}

TEST(Keys, PlacesAreTheirSections) {
    EXPECT_EQ(section(Place::document).name, "");
    EXPECT_EQ(section(Place::model).name, "model");
    EXPECT_EQ(section(Place::cluster).name, "cluster");
    EXPECT_EQ(section(Place::strategy).name, "strategy");
    EXPECT_EQ(section(Place::scope).name, "scopes");
    EXPECT_EQ(section(Place::training).name, "training");
    EXPECT_EQ(section(Place::outputs).name, "outputs");
    EXPECT_EQ(section(Place::perturbations).name, "perturbations");
    EXPECT_EQ(section(Place::other_job).name, "other_jobs");
    EXPECT_EQ(section(Place::reliability).name, "reliability");
    EXPECT_EQ(section(Place::checkpoint).name, "checkpoint");
    EXPECT_EQ(section(Place::storage).name, "storage");
    EXPECT_EQ(section(Place::synchrony).name, "synchrony");
    for (const Section& each : sections()) EXPECT_EQ(each.all.data(), sections().data());
}

TEST(Keys, WhatIsNotModelledIsNoKeyAndNoValue) {
    for (const documents::NotModelled& entry : not_modelled()) {
        const auto in = std::ranges::find(sections(), entry.section, &Section::name);
        ASSERT_NE(in, sections().end()) << entry.section;
        const Key* const key = find_spelled(*in, entry.key).key;
        EXPECT_EQ(key == nullptr, entry.value.empty()) << entry.key << ' ' << entry.value;
        if (key != nullptr) {
            EXPECT_EQ(std::ranges::find(key->words, entry.value, &documents::Word::name), key->words.end())
                << entry.value;
        }
        EXPECT_EQ(find_not_modelled(*in, entry.key, entry.value), &entry) << "it stands there twice";
        EXPECT_FALSE(entry.what.empty() || entry.instead.empty()) << entry.key;
    }
}

TEST(Keys, TheNearestKeyIsNamed) {
    for (const Section& each : sections())
        for (const Key& key : each.keys)
            EXPECT_EQ(nearest_key(each, std::string(key.name) + key.name.back()), key.name);
    EXPECT_EQ(nearest_key(section(Place::strategy), "tensr"), "tensor");
    EXPECT_EQ(nearest_key(section(Place::strategy), "tensor-model-parallel-size"), "tensor_model_parallel_size");
    EXPECT_EQ(nearest_key(section(Place::training), "seq_len"), "seq_length");
    EXPECT_EQ(nearest_key(section(Place::document), "Model"), "model");
    EXPECT_FALSE(nearest_key(section(Place::cluster), std::string(100000, 'x')).empty());
}

}  // namespace
}  // namespace orrery::scenarios
