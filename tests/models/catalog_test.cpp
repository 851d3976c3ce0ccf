// The shipped models: unique names, legal specs, and help for a misspelt name.
#include "models/catalog.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/error.hpp"
#include "models/operators.hpp"

namespace orrery::models {
namespace {

std::string hint_for(std::string_view name) {
    try {
        find(name);
    } catch (const Error& error) {
        return error.hint();
    }
    return "found";
}

TEST(Catalog, NamesAreUniqueAndLowerCase) {
    std::set<std::string> names;
    for (const ModelSpec& spec : catalog()) {
        EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
        for (const char c : spec.name) EXPECT_FALSE(c >= 'A' && c <= 'Z') << spec.name;
    }
    EXPECT_GT(names.size(), 50u);
}

TEST(Catalog, EverySpecIsLegal) {
    for (const ModelSpec& spec : catalog()) EXPECT_NO_THROW(validate(spec)) << spec.name;
}

TEST(Catalog, FindsByNameInAnyCase) {
    EXPECT_EQ(find("gpt3-175b").hidden, 12288u);
    EXPECT_EQ(find("GPT3-175B").name, "gpt3-175b");
    EXPECT_EQ(&find("Llama2-70b"), &find("llama2-70b"));
}

TEST(Catalog, NamesTheNearest) {
    EXPECT_TRUE(hint_for("gpt3-157b").starts_with("nearest names: gpt3-175b"));
    EXPECT_TRUE(hint_for("lama2-7b").starts_with("nearest names: llama2-7b"));
    EXPECT_TRUE(hint_for("bertlarge").starts_with("nearest names: bert-large"));
    EXPECT_TRUE(hint_for("").starts_with("nearest names: "));
}

TEST(Catalog, SurvivesAHugeName) {
    const std::string name(1'000'000, 'x');
    try {
        find(name);
        FAIL() << "found";
    } catch (const Error& error) {
        EXPECT_LT(std::string(error.what()).size(), 300u);
    }
}

}  // namespace
}  // namespace orrery::models
