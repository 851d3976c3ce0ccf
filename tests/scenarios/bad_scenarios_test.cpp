// Every broken file of the corpus is refused with file, pointer, offending value and remedy.
#include "tests/scenarios/bad_scenarios.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "scenarios/scenario.hpp"
#include "tests/scenarios/expect_error.hpp"
#include "tests/scenarios/temporary_file.hpp"

namespace orrery::scenarios {
namespace {

bool printable_text(const std::string& text) {
    for (const char c : text) {
        if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7F) return false;
    }
    return true;
}

TEST(BadScenarios, TheSoundDocumentLoads) { EXPECT_EQ(from_json(sound_scenario(), "sound.json").gpus, 32U); }

TEST(BadScenarios, AreAtLeastTwoHundredWithNamesOfTheirOwn) {
    std::set<std::string> names, contents;
    const auto all = bad_scenarios();
    for (const BadScenario& bad : all) {
        EXPECT_TRUE(names.insert(bad.name).second) << bad.name;
        contents.insert(bad.bytes);
    }
    EXPECT_GE(contents.size(), 200U);
}

TEST(BadScenarios, EachIsRefusedWithPlaceValueAndRemedy) {
    for (const BadScenario& bad : bad_scenarios()) {
        SCOPED_TRACE(bad.name);
        const TemporaryFile file(bad.bytes);
        const auto error = error_of([&] { (void)load(file.path()); });
        if (!error) {
            ADD_FAILURE() << "was loaded:\n" << bad.bytes.substr(0, 2000);
            continue;
        }
        EXPECT_EQ(error->file(), file.path().string());
        EXPECT_EQ(error->pointer(), bad.expected_pointer) << error->what();
        EXPECT_NE(error->message().find(bad.mention), std::string::npos) << error->what() << "\nlacks: " << bad.mention;
        EXPECT_FALSE(error->hint().empty()) << error->what();
        EXPECT_LT(std::string(error->what()).size(), 1500U) << error->what();
        EXPECT_TRUE(printable_text(error->what())) << error->what();
    }
}

}  // namespace
}  // namespace orrery::scenarios
