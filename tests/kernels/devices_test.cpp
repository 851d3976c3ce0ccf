// The table of devices, whatever this build has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "kernels/backends.hpp"

namespace orrery::kernels {
namespace {

TEST(Devices, ListsWhatIsBuiltAndSaysHowToGetTheRest) {
    for (const Backend& backend : {cpu_backend(), cuda_backend()}) {
        const auto kinds = device_kinds();
        EXPECT_EQ(std::count(kinds.begin(), kinds.end(), backend.kind), backend.built ? 1 : 0) << backend.kind;
        if (backend.built) continue;
        EXPECT_FALSE(backend.missing.empty());
        try {
            open_device(backend.kind);
            ADD_FAILURE() << backend.kind << " was opened";
        } catch (const Error& error) {
            EXPECT_NE(error.message().find(backend.kind), std::string::npos);
            EXPECT_EQ(error.hint(), backend.missing);
        }
    }
}

TEST(Devices, RefusesOtherNames) {
    for (const char* const name : {"", "abacus", "abacus:2", ":", "cpu:", "cuda:"})
        EXPECT_THROW(open_device(name), Error) << name;
}

TEST(Devices, TellsFromTheEnvironmentHowManyRanksWereStarted) {
    ASSERT_EQ(unsetenv("OMPI_COMM_WORLD_SIZE"), 0);
    ASSERT_EQ(unsetenv("PMI_SIZE"), 0);
    ASSERT_EQ(setenv("SLURM_STEP_NUM_TASKS", "1", 1), 0);
    EXPECT_EQ(launched_ranks(), 1u);
    ASSERT_EQ(setenv("SLURM_STEP_NUM_TASKS", "8", 1), 0);
    EXPECT_EQ(launched_ranks(), 8u);
    ASSERT_EQ(setenv("SLURM_STEP_NUM_TASKS", "eight", 1), 0);
    EXPECT_EQ(launched_ranks(), 1u);
}

}  // namespace
}  // namespace orrery::kernels
