// Tokens go to experts in turn, every copy to one row, and arrive sorted by the expert that takes them.
#include "run/routing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace orrery::run {
namespace {

std::vector<std::int32_t> counted(std::size_t count) {
    std::vector<std::int32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

strategies::ExpertShapes shapes_of(std::uint64_t tokens, std::uint64_t top_k, std::uint32_t experts) {
    strategies::ExpertShapes shapes;
    shapes.tokens = tokens;
    shapes.sent = tokens * top_k;
    shapes.experts = experts;
    shapes.rows = shapes.sent;
    return shapes;
}

TEST(Routing, SendsEveryTokenToExpertsInTurn) {
    const RoutingTables tables = route(shapes_of(6, 2, 2), 4, 2);
    EXPECT_EQ(tables.experts, (std::vector<std::int32_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}));
    // Rows by expert, and the copies of each in the order of their tokens.
    EXPECT_EQ(tables.source, (std::vector<std::int32_t>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
    for (std::size_t u = 0; u < 12; ++u) EXPECT_EQ(tables.source[tables.position[u]], static_cast<std::int32_t>(u));
}

TEST(Routing, SortsWhatArrivedByExpert) {
    // Two ranks send three copies for each of this rank's two experts: sender 0's, then sender 1's.
    const RoutingTables tables = route(shapes_of(6, 2, 2), 4, 2);
    EXPECT_EQ(tables.arrived, (std::vector<std::int32_t>{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}));
    for (std::size_t row = 0; row < 12; ++row)
        EXPECT_EQ(tables.sorted[tables.arrived[row]], static_cast<std::int32_t>(row));
}

TEST(Routing, IsAPermutationWithEqualShares) {
    for (const std::uint64_t top_k : {1, 2, 3, 4})
        for (const std::uint32_t experts : {4U, 6U, 8U}) {
            const std::uint64_t tokens = 24;
            SCOPED_TRACE(top_k * 100 + experts);
            strategies::ExpertShapes shapes = shapes_of(tokens, top_k, experts / 2);
            shapes.rows *= 2;  // gathered over two tensor ranks
            const RoutingTables tables = route(shapes, experts, top_k);
            for (auto table : {tables.source, tables.position, tables.arrived, tables.sorted}) {
                std::sort(table.begin(), table.end());
                EXPECT_EQ(table, counted(table.size()));
            }
            for (std::uint32_t e = 0; e < experts; ++e)
                EXPECT_EQ(std::count(tables.experts.begin(), tables.experts.end(), static_cast<std::int32_t>(e)),
                          static_cast<std::ptrdiff_t>(tokens * top_k / experts));
            // No token goes to an expert twice.
            for (std::uint64_t t = 0; t < tokens; ++t)
                for (std::uint64_t j = 1; j < top_k; ++j)
                    EXPECT_NE(tables.experts[t * top_k], tables.experts[t * top_k + j]);
        }
}

}  // namespace
}  // namespace orrery::run
