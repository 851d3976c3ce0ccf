#include "base/data_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/error.hpp"

namespace orrery {
namespace {

TEST(DataFolder, IsTheEnvironmentsOrHoldsTheShippedFiles) {
    ASSERT_EQ(::unsetenv("ORRERY_DATA"), 0);
    EXPECT_TRUE(std::filesystem::exists(data_folder() / "scenario.schema.json"));
    ASSERT_EQ(::setenv("ORRERY_DATA", "/tmp", 1), 0);
    EXPECT_EQ(data_folder(), "/tmp");
    ASSERT_EQ(::setenv("ORRERY_DATA", "/no/such/folder", 1), 0);
    try {
        (void)data_folder();
        FAIL() << "accepted a folder that does not exist";
    } catch (const Error& error) {
        EXPECT_NE(error.message().find("/no/such/folder"), std::string::npos);
        EXPECT_NE(error.hint().find("unset"), std::string::npos);
    }
    ASSERT_EQ(::unsetenv("ORRERY_DATA"), 0);
}

}  // namespace
}  // namespace orrery
