#include "base/data_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

class DataFolder : public testing::Test {
protected:
    void TearDown() override { ASSERT_EQ(::unsetenv("ORRERY_DATA"), 0); }
};

void expect_refused(const char* folder, const char* reason) {
    ASSERT_EQ(::setenv("ORRERY_DATA", folder, 1), 0);
    try {
        (void)data_folder();
        FAIL() << "accepted " << folder;
    } catch (const Error& error) {
        EXPECT_NE(error.message().find(folder), std::string::npos) << error.message();
        EXPECT_NE(error.message().find(reason), std::string::npos) << error.message();
        EXPECT_NE(error.hint().find("unset"), std::string::npos) << error.hint();
    }
}

/// A build has a link to the source's data where an installed program has the data.
TEST_F(DataFolder, IsBesideTheProgram) {
    ASSERT_EQ(::unsetenv("ORRERY_DATA"), 0);
    EXPECT_TRUE(fs::equivalent(data_folder(), "scenarios"));
    ASSERT_EQ(::setenv("ORRERY_DATA", "", 1), 0);
    EXPECT_TRUE(fs::equivalent(data_folder(), "scenarios")) << "an empty variable says nothing";
}

TEST_F(DataFolder, IsTheEnvironmentsWhereThatHoldsProfiles) {
    ASSERT_EQ(::setenv("ORRERY_DATA", "scenarios/../scenarios", 1), 0);
    EXPECT_EQ(data_folder(), "scenarios/../scenarios");
    expect_refused("/no/such/folder", "is not a folder");
    expect_refused("CMakeLists.txt", "is not a folder");
    expect_refused("tests", "has no profiles/");
}

}  // namespace
}  // namespace orrery
