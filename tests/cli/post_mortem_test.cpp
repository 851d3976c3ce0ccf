// Why a run failed, told from records that the test writes.
#include "cli/post_mortem.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "run/progress.hpp"
#include "scenarios/scenario.hpp"
#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

class PostMortem : public testing::Test {
protected:
    PostMortem() {
        scenarios::Scenario scenario =
            scenarios::load("scenarios/gpt-tiny-cpu.json", {scenarios::parse_override("strategy.data=2")});
        plan_.plan = scenario.plan;
    }
    std::string of_a_stall(Started started) {
        return post_mortem(plan_, folder_ / "ranks", folder_ / "steps", started, Stall{std::nullopt, 120});
    }
    void start(std::uint32_t rank) {
        started_.push_back(std::make_unique<run::Progress>(run::progress_file(folder_ / "ranks", rank)));
    }

    Folder folder_;
    run::RunPlan plan_;
    std::vector<std::unique_ptr<run::Progress>> started_;
};

/// A process that was stopped before it could leave a record.
TEST_F(PostMortem, NamesTheRankWithoutAWord) {
    start(0);
    const std::string text = of_a_stall(Started::here);
    EXPECT_NE(text.find("rank 1, the first of 1 without a word, has not begun within 120.0 s"), std::string::npos)
        << text;
    EXPECT_NE(text.find("--stall"), std::string::npos) << text;
}

TEST_F(PostMortem, NamesTheRankThatWasStoppedBeforeItsRecord) {
    start(0);
    const std::string text = post_mortem(plan_, folder_ / "ranks", folder_ / "steps", Started::here, Stall{1, 2});
    EXPECT_NE(text.find("rank 1 has not begun within 2.0 s: its process is stopped"), std::string::npos) << text;
    EXPECT_NE(text.find("--stall"), std::string::npos) << text;
}

/// Told to end, a rank that stood still goes on and meets what its peers left: the stall stays what is told.
TEST_F(PostMortem, OfAStallTheEndIsNotTheReason) {
    start(0);
    start(1);
    started_[1]->fail("the connection to rank 0 was closed");
    const std::string text = post_mortem(plan_, folder_ / "ranks", folder_ / "steps", Started::here, Stall{1, 6});
    EXPECT_NE(text.find("no rank has begun anything for 6.0 s"), std::string::npos) << text;
    EXPECT_EQ(text.find("was closed"), std::string::npos) << text;
}

TEST_F(PostMortem, OfOtherHostsNoRankIsBlamed) {
    start(0);
    const std::string text = of_a_stall(Started::on_hosts);
    EXPECT_NE(text.find("no rank has begun a step, or ended one, for 120.0 s"), std::string::npos) << text;
}

}  // namespace
}  // namespace orrery::cli
