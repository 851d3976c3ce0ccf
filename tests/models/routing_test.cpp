// The closed forms of a router's choices against all choices, each as likely.
#include "models/routing.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

namespace orrery::models {
namespace {

/// How many of `count` equal parts of `experts` bits hold some of the chosen.
std::uint32_t held(std::uint32_t chosen, std::uint32_t experts, std::uint32_t count) {
    const std::uint32_t each = experts / count;
    std::uint32_t met = 0;
    for (std::uint32_t part = 0; part < count; ++part)
        if ((chosen >> (part * each) & ((1U << each) - 1)) != 0) ++met;
    return met;
}

/// Over all choices of groups, and of experts in them.
double mean_of_all_choices(const Routing& routing, std::uint32_t parts) {
    double sum = 0, choices = 0;
    const std::uint32_t each = routing.experts / routing.groups;
    for (std::uint32_t open = 0; open < 1U << routing.groups; ++open) {
        if (static_cast<std::uint32_t>(std::popcount(open)) != routing.top_groups) continue;
        std::uint32_t allowed = 0;
        for (std::uint32_t group = 0; group < routing.groups; ++group)
            if ((open >> group & 1U) != 0) allowed |= ((1U << each) - 1) << (group * each);
        for (std::uint32_t chosen = 0; chosen < 1U << routing.experts; ++chosen) {
            if ((chosen & ~allowed) != 0 || static_cast<std::uint32_t>(std::popcount(chosen)) != routing.top_k)
                continue;
            ++choices;
            sum += held(chosen, routing.experts, parts);
        }
    }
    return sum / choices;
}

TEST(Routing, ExpectedPartsAreThoseOfAllChoices) {
    for (const std::uint32_t groups : {1U, 2U, 4U})
        for (std::uint32_t top_groups = 1; top_groups <= groups; ++top_groups)
            for (std::uint32_t top_k = 1; top_k <= 8 / groups * top_groups; ++top_k)
                for (const std::uint32_t parts : {1U, 2U, 4U, 8U}) {
                    const Routing routing{8, top_k, groups, top_groups};
                    EXPECT_NEAR(expected_parts(routing, parts), mean_of_all_choices(routing, parts), 1e-12)
                        << top_k << " in " << top_groups << " of " << groups << " groups, " << parts << " parts";
                }
}

/// DeepSeek-V3 on nodes that hold a group each: at most four of eight.
TEST(Routing, GroupsLimitTheNodesOfAToken) {
    const Routing limited{256, 8, 8, 4}, free{256, 8};
    EXPECT_NEAR(expected_parts(limited, 8), 3.62, 0.01);
    EXPECT_NEAR(expected_parts(free, 8), 5.29, 0.01);
    EXPECT_LT(expected_parts(limited, 64), expected_parts(free, 64));
    EXPECT_GT(expected_parts({256, 8, 8, 4}, 3), 1) << "parts that cut groups anew";
}

}  // namespace
}  // namespace orrery::models
