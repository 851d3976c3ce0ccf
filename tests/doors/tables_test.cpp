// The tables of flags and keys themselves.
#include <gtest/gtest.h>

#include <set>

#include "doors/documents/nemo_keys.hpp"
#include "doors/megatron/flags.hpp"
#include "scenarios/keys.hpp"

namespace orrery::doors {
namespace {

using documents::Section;

bool is_known(std::string_view name) {
    name = name.substr(name.rfind('.') + 1);
    for (const Section& section : scenarios::sections())
        if (documents::find_spelled(section, name).key != nullptr ||
            documents::find_not_modelled(section, name) != nullptr)
            return true;
    return false;
}

bool is_key(std::string_view pointer) {
    for (const Section& section : scenarios::sections())
        if (!section.pointer.empty() && pointer.starts_with(section.pointer) &&
            documents::find_key(section, pointer.substr(section.pointer.size() + 1)) != nullptr)
            return true;
    return false;
}

class Tables : public testing::TestWithParam<std::span<const Row>> {};

TEST_P(Tables, NameEveryFlagOnce) {
    std::set<std::string_view> names;
    for (const Row& row : GetParam()) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name << " stands twice";
        EXPECT_EQ(row.name.find('-'), std::string_view::npos) << row.name;
    }
}

TEST_P(Tables, MeanKeysThatThereAre) {
    for (const Row& row : GetParam()) {
        EXPECT_TRUE(row.act != Act::key || is_known(row.name)) << row.name;
        if (row.act == Act::sets) {
            EXPECT_TRUE(is_key(row.pointer)) << row.name << ": " << row.pointer;
            EXPECT_TRUE(nlohmann::json::accept(row.on)) << row.name;
        }
    }
}

TEST_P(Tables, SayWhatIsNotModelledAndWhatToDo) {
    for (const Row& row : GetParam())
        if (row.act == Act::noted || row.act == Act::refused) {
            EXPECT_FALSE(row.what.empty()) << row.name;
            EXPECT_FALSE(row.instead.empty()) << row.name;
        }
}

INSTANTIATE_TEST_SUITE_P(Formats, Tables, testing::Values(megatron::flags(), nemo_keys()));

}  // namespace
}  // namespace orrery::doors
