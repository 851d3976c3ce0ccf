#include "base/error.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Error, NamesFilePointerMessageAndHint) {
    const Error error("a.json", "/strategy/tensor", "3 does not divide the 96 heads", "use 2 or 4");
    EXPECT_STREQ(error.what(), "a.json:/strategy/tensor: 3 does not divide the 96 heads\n  hint: use 2 or 4");
    EXPECT_EQ(error.file(), "a.json");
    EXPECT_EQ(error.pointer(), "/strategy/tensor");
    EXPECT_EQ(error.message(), "3 does not divide the 96 heads");
    EXPECT_EQ(error.hint(), "use 2 or 4");
}

TEST(Error, LeavesOutWhatIsEmpty) {
    EXPECT_STREQ(Error("no such model").what(), "no such model");
    EXPECT_STREQ(Error("", "/model", "no such model").what(), "/model: no such model");
    EXPECT_STREQ(Error("a.json", "", "not JSON").what(), "a.json: not JSON");
}

TEST(Error, InFileFillsInOnlyAMissingFile) {
    const Error located = Error("", "/model", "no such model", "see orrery list models").in_file("a.json");
    EXPECT_STREQ(located.what(), "a.json:/model: no such model\n  hint: see orrery list models");
    EXPECT_EQ(located.in_file("b.json").file(), "a.json");
}

}  // namespace
}  // namespace orrery
