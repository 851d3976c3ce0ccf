#include "kernels/processes.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/error.hpp"

namespace orrery::kernels {
namespace {

Environment of(std::map<std::string, std::string> variables) {
    return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        if (found == variables.end()) return std::nullopt;
        return found->second;
    };
}

TEST(Processes, AreNoneWhenStartedAlone) {
    EXPECT_FALSE(processes(of({})));
    EXPECT_FALSE(processes(of({{"RANK", "0"}, {"WORLD_SIZE", "1"}})));
}

TEST(Processes, OfTorchrun) {
    const auto found = processes(of({{"RANK", "5"},
                                     {"WORLD_SIZE", "16"},
                                     {"LOCAL_RANK", "1"},
                                     {"MASTER_ADDR", "gpu-1"},
                                     {"MASTER_PORT", "1234"},
                                     {"SLURM_PROCID", "0"},
                                     {"SLURM_STEP_NUM_TASKS", "4"}}));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->rank, 5u);
    EXPECT_EQ(found->ranks, 16u);
    EXPECT_EQ(found->local_rank, 1u);
    EXPECT_EQ(found->address, "gpu-1");
    EXPECT_EQ(found->port, 1234);
}

TEST(Processes, OfSlurmMeetAtTheFirstHost) {
    const auto found = processes(of({{"SLURM_PROCID", "9"},
                                     {"SLURM_STEP_NUM_TASKS", "16"},
                                     {"SLURM_LOCALID", "1"},
                                     {"SLURM_JOB_ID", "123456"},
                                     {"SLURM_STEP_NODELIST", "gpu-[007-008]"}}));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->rank, 9u);
    EXPECT_EQ(found->local_rank, 1u);
    EXPECT_EQ(found->address, "gpu-007");
    EXPECT_EQ(found->port, 29400 + 456) << "jobs on one host do not meet";
}

TEST(Processes, OfMpirunOnOneHostMeetThere) {
    std::map<std::string, std::string> variables{{"OMPI_COMM_WORLD_RANK", "3"},
                                                 {"OMPI_COMM_WORLD_SIZE", "4"},
                                                 {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                                                 {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
    const auto found = processes(of(variables));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->address, "127.0.0.1");
    variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
    EXPECT_THROW(processes(of(variables)), Error) << "two hosts and nobody says where rank 0 is";
    variables["MASTER_ADDR"] = "10.0.0.1";
    EXPECT_EQ(processes(of(variables))->address, "10.0.0.1");
}

TEST(Processes, RefuseWhatIsNoRank) {
    EXPECT_THROW(processes(of({{"RANK", "two"}, {"WORLD_SIZE", "4"}})), Error);
    EXPECT_THROW(processes(of({{"RANK", "-1"}, {"WORLD_SIZE", "4"}})), Error);
    EXPECT_THROW(processes(of({{"RANK", "4"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}})), Error);
    EXPECT_THROW(processes(of({{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}})),
                 Error);
}

TEST(Processes, ReadSlurmsListsOfHosts) {
    EXPECT_EQ(first_host("login"), "login");
    EXPECT_EQ(first_host("a1,b[2-3]"), "a1");
    EXPECT_EQ(first_host("gpu-[003-006,9],login"), "gpu-003");
    EXPECT_EQ(first_host("n[12]"), "n12");
    EXPECT_EQ(first_host("n[7,9]"), "n7");
}

}  // namespace
}  // namespace orrery::kernels
