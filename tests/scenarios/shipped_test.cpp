// Every shipped scenario loads and means what its name says.
#include "tests/scenarios/shipped.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "documents/document.hpp"
#include "scenarios/scenario.hpp"

namespace orrery::scenarios {
namespace {

TEST(Shipped, AreAtLeastTen) { EXPECT_GE(shipped_scenarios().size(), 10U); }

TEST(Shipped, EveryOneLoadsAndNamesItsSource) {
    for (const auto& file : shipped_scenarios()) {
        SCOPED_TRACE(file);
        const Scenario scenario = load(file);
        EXPECT_GE(scenario.plan.micro_batches(), 1U);
        EXPECT_FALSE(scenario.profile.empty());
        EXPECT_EQ(documents::read_document(file).at("$schema"), "scenario.schema.json");
        EXPECT_TRUE(documents::read_document(file).contains("name"));
    }
}

struct Expected {
    const char* file;
    std::uint32_t gpus, tensor, pipeline, data, micro_batches;
};

TEST(Shipped, ThePublishedMeshesAreTheirs) {
    // Narayanan et al., SC'21, Table 1 and section 5.1; Black et al. 2022, section 3.
    for (const Expected& expected :
         {Expected{"gpt3-175b-superpod-a100", 1024, 8, 8, 16, 96},
          Expected{"gpt-1t-superpod-a100", 3072, 8, 64, 6, 512}, Expected{"gpt-1.7b-dgx-a100", 32, 1, 1, 32, 1},
          Expected{"gpt-neox-20b-ethernet", 96, 2, 4, 12, 32}}) {
        SCOPED_TRACE(expected.file);
        const Scenario scenario = load(std::string("scenarios/") + expected.file + ".json");
        EXPECT_EQ(scenario.gpus, expected.gpus);
        EXPECT_EQ(scenario.plan.strategy.tensor, expected.tensor);
        EXPECT_EQ(scenario.plan.strategy.pipeline, expected.pipeline);
        EXPECT_EQ(scenario.plan.strategy.data, expected.data);
        EXPECT_EQ(scenario.plan.micro_batches(), expected.micro_batches);
    }
}

}  // namespace
}  // namespace orrery::scenarios
