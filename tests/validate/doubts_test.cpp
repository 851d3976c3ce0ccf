// Doubts are about rows that there are, and what the sources say of them holds in the rows themselves.
#include "validate/doubts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "validate/rows.hpp"

namespace orrery::validate {
namespace {

std::map<std::string, Row> rows_of(const std::string& source) {
    std::map<std::string, Row> rows;
    for (const Row& row : load_rows("scenarios/validation/" + source + ".json").rows) rows.emplace(row.id(), row);
    return rows;
}

TEST(Doubts, EachIsAboutSomeRowsOfItsSource) {
    for (const Doubt& doubt : doubts()) {
        std::size_t met = 0, all = 0;
        for (const auto& [id, row] : rows_of(std::string(doubt.source))) {
            ++all;
            met += doubt_about(row) == &doubt;
        }
        EXPECT_GT(met, 0U) << doubt.reason;
        EXPECT_LT(met, all) << doubt.reason;
        EXPECT_NE(doubt.words.find('('), std::string_view::npos) << "where does " << doubt.source << " say so?";
    }
}

/// Twice the micro-batches should take twice as long.
TEST(Doubts, OneNodeOfGb200ContradictsTwo) {
    const std::map<std::string, Row> rows = rows_of("megatron_ci_tiny");
    std::size_t pairs = 0;
    double least = 1e9, most = 0;
    for (const auto& [id, row] : rows) {
        const std::size_t at = id.find("_1node/dev_dgx_gb200");
        if (at == std::string::npos) continue;
        const auto two = rows.find(std::string(id).erase(at, 6));
        if (two == rows.end()) continue;
        const auto same = [&](const char* key) { return row.count(key) == two->second.count(key); };
        if (!same("gbs") || !same("mbs") || !same("tp") || !same("pp") || !same("ep")) continue;
        const double ratio = *row.number("measured.step_time_s") / *two->second.number("measured.step_time_s");
        ++pairs;
        least = std::min(least, ratio);
        most = std::max(most, ratio);
    }
    EXPECT_GT(pairs, 30U);
    EXPECT_GT(least, 3) << "work is twice as much";
    EXPECT_LT(most, 32);
}

TEST(Doubts, OtherSequencesOfBertAreScored) {
    for (const auto& [id, row] : rows_of("nvidia_dle"))
        EXPECT_EQ(doubt_about(row) != nullptr, id.starts_with("dle/PyTorch") && row.count("model.seq") == 512U) << id;
}

}  // namespace
}  // namespace orrery::validate
