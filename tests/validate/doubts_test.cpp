// Doubts are about rows that there are, and what the sources say of them holds in the rows themselves.
#include "validate/doubts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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
        const auto& row_of = row;
        const auto same = [&](const char* key) { return row_of.count(key) == two->second.count(key); };
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

/// vTrain's steps are printed to the nanosecond, and most of them are straight lines in the number of layers, with a
/// time per micro-batch that knows nothing of the replicas: no clock on a wall reads that. They are scored, because
/// their parts were measured on A100; docs/validation.md says what they are.
TEST(Doubts, StepsOfVtrainAreSumsOfParts) {
    using Key = std::array<std::uint32_t, 6>;
    std::map<Key, std::map<std::uint32_t, double>> by_layers;
    for (const auto& entry : rows_of("vtrain_single")) {
        const auto& row = entry.second;
        Key key{};
        std::ranges::transform(std::array{"tp", "pp", "dp", "mbs", "gbs", "model.hidden"}, key.begin(),
                               [&](const char* field) { return row.count(field).value(); });
        by_layers[key][row.count("model.layers").value()] = row.number("measured.step_time_s").value();
    }
    std::size_t straight = 0, nearly = 0;
    for (const auto& [key, of] : by_layers) {
        ASSERT_EQ(of.size(), 4U);  // 12, 16, 20 and 24 layers
        const double first = of.at(16) - of.at(12), second = of.at(20) - of.at(16), third = of.at(24) - of.at(20);
        const double bend = std::max({first, second, third}) - std::min({first, second, third});
        straight += bend < 2e-9;  // each is rounded to one
        nearly += bend < 1e-3 * of.at(24);
    }
    EXPECT_EQ(by_layers.size(), 360U);
    EXPECT_GE(straight, 160U);
    EXPECT_GE(nearly, 332U);
}

/// What a layer of twice the width takes longer in a micro-batch, over the products that it has more: without
/// recomputation a rate that an A100 reaches; with it one beyond its peak, and nothing is left for all between them.
TEST(Doubts, StepsOfVtrainHaveNoTimeForRecomputation) {
    std::map<std::array<std::uint32_t, 3>, double> step;  // by hidden, layers and micro-batches of four sequences
    for (const auto& [id, row] : rows_of("vtrain_single"))
        if (row.count("tp") == 1U && row.count("pp") == 1U && row.count("dp") == 2U && row.count("mbs") == 4U)
            step[{row.count("model.hidden").value(), row.count("model.layers").value(),
                  row.count("grad_accum").value()}] = row.number("measured.step_time_s").value();
    const auto micro_batch = [&](std::uint32_t width, std::uint32_t layers) {
        return (step.at({width, layers, 4}) - step.at({width, layers, 2})) / 2;
    };
    const auto layer = [&](std::uint32_t width) { return (micro_batch(width, 24) - micro_batch(width, 12)) / 12; };
    constexpr double tokens = 4 * 1024, seq = 1024, width = 1024, peak = 312e12;
    const double forward = 2 * tokens * 12 * (4 - 1) * width * width + 4 * tokens * seq * width;
    const double rate = 3 * forward / (layer(2048) - layer(1024));
    EXPECT_LT(rate, 0.85 * peak);
    EXPECT_GT(rate * 4 / 3, 1.05 * peak);
}

}  // namespace
}  // namespace orrery::validate
