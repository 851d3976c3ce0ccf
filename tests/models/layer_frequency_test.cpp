#include "models/layer_frequency.hpp"

#include <gtest/gtest.h>

#include <string>

namespace orrery::models {
namespace {

TEST(LayerFrequency, CountsTheFirstLayersWithoutExperts) {
    EXPECT_EQ(first_dense_layers("([0]*3+[1]*58)"), 3U);
    EXPECT_EQ(first_dense_layers("[0]*1+[1]*26"), 1U);
    EXPECT_EQ(first_dense_layers("([0]*0+[1]*4)"), 0U);
    EXPECT_EQ(first_dense_layers("([0]*1+[1]*3)*1"), 1U);
    EXPECT_EQ(first_dense_layers("([0]*1+[1]*3)*2"), std::nullopt);
}

TEST(LayerFrequency, KnowsNoOtherList) {
    for (const char* other :
         {"", "2", "([1]*3+[0]*58)", "[0,1,0,1]", "([0]*3)", "([0]*3+[1]*58)*2", "([0]*99999+[1]*1)"})
        EXPECT_EQ(first_dense_layers(other), std::nullopt) << other;
    EXPECT_EQ(first_dense_layers("([0]*3+[1]*58)" + std::string(1000, ' ')), std::nullopt);
}

}  // namespace
}  // namespace orrery::models
