// The laws of every prediction over random scenarios: 1,000 cases in all. `make soak` goes on from there.
#include "tests/property/laws.hpp"

#include <gtest/gtest.h>

namespace orrery::laws {
namespace {

constexpr std::uint64_t first_seed = 100'000, cases = 1000;

class Laws : public testing::TestWithParam<Law> {};

TEST_P(Laws, Hold) {
    const std::uint64_t each = (cases + all().size() - 1) / all().size();
    for (std::uint64_t seed = first_seed; seed < first_seed + each; ++seed) {
        const Case one(seed);
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " + one.document);
        ASSERT_NO_THROW(GetParam().check(one)) << GetParam().says;
    }
}

INSTANTIATE_TEST_SUITE_P(Property, Laws, testing::ValuesIn(all().begin(), all().end()),
                         [](const auto& test) { return std::string(test.param.name); });

/// A law that cannot be broken is none.
TEST(LawsThemselves, AreBrokenByNonsense) {
    sim::Prediction nonsense;
    nonsense.step_time_s = 1;
    nonsense.mfu = nonsense.hfu = 0.5;
    nonsense.stages = {{.gemm = 0.5, .bubble = 0.5}};
    EXPECT_NO_THROW(require_sane(nonsense));
    nonsense.mfu = 1.1;
    EXPECT_THROW(require_sane(nonsense), Violation);
    nonsense.mfu = 0.5;
    nonsense.stages = {{.gemm = 0.5, .bubble = 0.4}};
    EXPECT_THROW(require_sane(nonsense), Violation);
    nonsense.stages = {{.gemm = 1.5, .bubble = -0.5}};
    EXPECT_THROW(require_sane(nonsense), Violation);
    nonsense.stages = {{.gemm = 1}};
    sim::StageMemory memory;
    memory.peak = 1;
    nonsense.memory = {memory};
    EXPECT_THROW(require_sane(nonsense), Violation);
}

}  // namespace
}  // namespace orrery::laws
