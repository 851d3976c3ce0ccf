// When a run has stalled, by records that the test writes and a clock that it keeps.
#include "cli/watchdog.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "cli/spawn.hpp"
#include "cli/stopped_processes.hpp"
#include "run/progress.hpp"
#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

/// A process that is a rank by its environment, and does nothing.
class StartedRank {
public:
    explicit StartedRank(int rank) {
        // As mpirun names them.
        const std::map<std::string, int> variables{{"OMPI_COMM_WORLD_RANK", rank},
                                                   {"OMPI_COMM_WORLD_SIZE", 2},
                                                   {"OMPI_COMM_WORLD_LOCAL_RANK", rank},
                                                   {"OMPI_COMM_WORLD_LOCAL_SIZE", 2}};
        for (const auto& [name, value] : variables) ::setenv(name.c_str(), std::to_string(value).c_str(), 1);
        process_ = spawn({"sleep", "60"}, {});
        for (const auto& [name, value] : variables) ::unsetenv(name.c_str());
    }
    ~StartedRank() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    StartedRank(const StartedRank&) = delete;
    StartedRank& operator=(const StartedRank&) = delete;

    void stop() const {
        ::kill(process_, SIGSTOP);
        EXPECT_TRUE(comes_true([&] { return is_stopped(process_); }));
    }

private:
    pid_t process_ = 0;
};

class WatchdogTest : public testing::Test {
protected:
    void SetUp() override {
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            ranks_.push_back(std::make_unique<run::Progress>(run::progress_file(folder_ / "ranks", rank)));
            ranks_.back()->record().state = run::RankState::running;
        }
    }
    void begin(std::uint32_t rank, std::uint32_t item) { ranks_[rank]->record().item[0] = item; }
    void step(std::uint64_t number) {
        for (const auto& rank : ranks_) rank->record().step = number;
    }

    Folder folder_;
    std::vector<std::unique_ptr<run::Progress>> ranks_;
};

TEST_F(WatchdogTest, BlamesTheRankThatDidLeastOnceNoneMoves) {
    Watchdog dog(folder_ / "ranks", 2, 5);
    begin(0, 7);
    begin(1, 4);
    EXPECT_FALSE(dog.look(100));
    EXPECT_FALSE(dog.look(104.9));
    const auto stall = dog.look(105);
    ASSERT_TRUE(stall);
    EXPECT_EQ(stall->rank, 1u);
    EXPECT_DOUBLE_EQ(stall->seconds, 5);
}

TEST_F(WatchdogTest, OneRankThatMovesIsEnough) {
    Watchdog dog(folder_ / "ranks", 2, 5);
    for (std::uint32_t item = 1; item < 10; ++item) {
        begin(0, item);
        EXPECT_FALSE(dog.look(4.0 * item));
    }
}

TEST_F(WatchdogTest, PatienceFollowsTheLongestStep) {
    Watchdog dog(folder_ / "ranks", 2, 0);
    EXPECT_FALSE(dog.look(0));
    EXPECT_FALSE(dog.look(Watchdog::first_patience - 1)) << "the first step may take long";
    step(1);
    EXPECT_FALSE(dog.look(700));
    step(2);
    EXPECT_FALSE(dog.look(703));
    EXPECT_FALSE(dog.look(732)) << "ten times a step of 3 s";
    EXPECT_TRUE(dog.look(733));
}

/// A process that is stopped, or hangs, before its first operation.
TEST_F(WatchdogTest, RanksThatNeverBeginAreNotWaitedForForEver) {
    for (const auto& rank : ranks_) rank->record().state = run::RankState::starting;
    for (const std::string& folder : {std::string(folder_ / "ranks"), std::string(folder_ / "absent")}) {
        Watchdog dog(folder, 2, 1);
        EXPECT_FALSE(dog.look(0));
        EXPECT_FALSE(dog.look(Watchdog::asked_start_patience - 1));
        const auto stall = dog.look(Watchdog::asked_start_patience);
        ASSERT_TRUE(stall);
        EXPECT_FALSE(stall->rank);
        Watchdog usual(folder, 2, 0);
        EXPECT_FALSE(usual.look(0));
        EXPECT_FALSE(usual.look(Watchdog::usual_start_patience - 1));
        EXPECT_TRUE(usual.look(Watchdog::usual_start_patience));
    }
}

/// Before it could leave a record: only its process is there to be seen.
TEST_F(WatchdogTest, ARankThatWasStoppedBeforeItsRecordIsFoundAmongTheProcesses) {
    std::filesystem::remove(run::progress_file(folder_ / "ranks", 1));
    ranks_[0]->record().state = run::RankState::starting;
    const StartedRank rank(1);
    Watchdog dog(folder_ / "ranks", 2, 2, {}, ::getpid());
    EXPECT_FALSE(dog.look(0));
    EXPECT_FALSE(dog.look(3)) << "it may be slow to start";
    rank.stop();
    const auto stall = dog.look(4);
    ASSERT_TRUE(stall);
    EXPECT_EQ(stall->rank, 1u);
    Watchdog of_others(folder_ / "ranks", 2, 2, {}, ::getpid() + 1);
    EXPECT_FALSE(of_others.look(0));
    EXPECT_FALSE(of_others.look(3));
}

TEST_F(WatchdogTest, RanksThatStartOrHaveEndedAreNotWaitedFor) {
    for (const run::RankState state : {run::RankState::starting, run::RankState::finished, run::RankState::failed}) {
        for (const auto& rank : ranks_) rank->record().state = state;
        Watchdog dog(folder_ / "ranks", 2, 1);
        EXPECT_FALSE(dog.look(0));
        EXPECT_FALSE(dog.look(100));
    }
    Watchdog without(folder_ / "absent", 2, 1);
    EXPECT_FALSE(without.look(0));
    EXPECT_FALSE(without.look(100));
}

TEST_F(WatchdogTest, OfHostsThatShareNoFilesTheLogIsAllThatIsSeen) {
    const std::string log = folder_.file("printed", "");
    const auto print = [&](int steps) { (void)folder_.file("printed", std::string(10 * steps, 'x')); };
    Watchdog dog(folder_ / "absent", 2, 0, log);
    EXPECT_FALSE(dog.look(0));
    EXPECT_FALSE(dog.look(1000)) << "the first step may take long";
    print(1);
    EXPECT_FALSE(dog.look(1001));
    print(2);
    EXPECT_FALSE(dog.look(1003));
    EXPECT_FALSE(dog.look(1022)) << "ten times a step of 2 s";
    const auto stall = dog.look(1023);
    ASSERT_TRUE(stall);
    EXPECT_FALSE(stall->rank) << "nobody to blame is in sight";
    EXPECT_DOUBLE_EQ(stall->seconds, 20);
}

}  // namespace
}  // namespace orrery::cli
