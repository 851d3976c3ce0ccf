#include "base/version.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Version, IsReadInItsUsualSpellings) {
    EXPECT_EQ(version_from("2.18.5"), (Version{2, 18, 5}));
    EXPECT_EQ(version_from("2.18"), (Version{2, 18, 0}));
    EXPECT_EQ(version_from("v1.7.3-aws"), (Version{1, 7, 3}));
    EXPECT_EQ(version_from("2.21.5+cuda12.4"), (Version{2, 21, 5}));
    for (const char* text : {"", "2", "2.", "2.18.", "two", "2.18.5.1", "2.18.5a", "2.-1", "2.99999999999", " 2.18"})
        EXPECT_FALSE(version_from(text)) << text;
}

TEST(Version, IsOrderedByItsNumbers) {
    EXPECT_LT((Version{2, 9, 9}), (Version{2, 18, 0}));
    EXPECT_LT((Version{2, 18, 5}), (Version{2, 19, 1}));
    EXPECT_GE((Version{2, 19, 3}), (Version{2, 19, 3}));
}

}  // namespace
}  // namespace orrery
