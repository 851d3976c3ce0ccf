// Several ranks train on emulated GPUs over the emulated NCCL, in many interleavings of their streams: as one rank's
// reference does, without a race, and with nothing left behind.
#include <gtest/gtest.h>

#include <exception>
#include <thread>

#include "kernels/cuda/nccl_communicator.hpp"
#include "run/executor.hpp"
#include "strategies/build.hpp"
#include "tests/emulated/host_threads.hpp"
#include "tests/emulated/machine/machine.hpp"
#include "tests/emulated/machine/memory.hpp"
#include "tests/emulated/watched.hpp"
#include "tests/run/small_models.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;

struct Ran {
    std::vector<double> losses;  ///< by step: the mean over the ranks that have one
    std::set<std::string> races;
    std::uint64_t waits = 0;  ///< of rank 0's lanes for each other
};

struct OfRank {
    std::vector<StepResult> results;
    std::set<std::string> races;
    std::uint64_t waits = 0;
    std::exception_ptr failure;
};

void run_rank(const Plan& plan, const strategies::StepProgram& program, std::uint32_t rank,
              kernels::HostMeeting& meeting, std::uint32_t count, std::optional<std::uint64_t> forget, OfRank& out) {
    try {
        constexpr double timeout_seconds = 30;
        kernels::cuda::CudaDevice gpu(static_cast<int>(rank));
        kernels::WatchedDevice device(gpu);
        kernels::WatchedCommunicator world(
            std::make_unique<kernels::cuda::NcclCommunicator>(gpu, std::make_unique<kernels::HostThread>(meeting, rank),
                                                              timeout_seconds),
            device.watch());
        Executor executor(device, plan.ranks() > 1 ? &world : nullptr, plan, program, fast());
        if (forget && rank == 0) device.forget_wait(device.waits() + *forget);
        const std::uint64_t before = device.waits();
        for (std::uint32_t step = 0; step < count; ++step) out.results.push_back(executor.step());
        out.waits = device.waits() - before;
        out.races = device.watch().races();
    } catch (...) {
        out.failure = std::current_exception();
        meeting.fail();
    }
}

Ran train(const Plan& plan, std::uint64_t seed, double eagerness, std::uint32_t count,
          std::optional<std::uint64_t> forget = std::nullopt) {
    emulated::set_up({.gpus = static_cast<int>(plan.ranks()), .seed = seed, .eagerness = eagerness});
    const strategies::StepProgram program = strategies::build(plan);
    kernels::HostMeeting meeting(plan.ranks());
    std::vector<OfRank> ranks(plan.ranks());
    {
        std::vector<std::jthread> threads;
        for (std::uint32_t rank = 0; rank < plan.ranks(); ++rank)
            threads.emplace_back([&, rank] { run_rank(plan, program, rank, meeting, count, forget, ranks[rank]); });
    }
    Ran ran;
    for (const OfRank& rank : ranks) {
        if (rank.failure) std::rethrow_exception(rank.failure);
        ran.races.insert(rank.races.begin(), rank.races.end());
    }
    ran.waits = ranks[0].waits;
    for (std::uint32_t step = 0; step < count; ++step) {
        double total = 0;
        int with_loss = 0;
        for (const OfRank& rank : ranks)
            if (const std::vector<double>& losses = rank.results[step].losses; !losses.empty()) {
                total += losses.front();  // these programs are of one step each
                ++with_loss;
            }
        ran.losses.push_back(total / with_loss);
    }
    return ran;
}

/// Rows of whole vectors of 16 bytes on every rank of two.
Plan wide(const models::ModelSpec& spec) {
    Plan plan = plan_of(spec);
    plan.model.layers = 2;
    plan.model.hidden = 32;
    plan.model.head_dim = 8;
    plan.model.ffn = 64;
    return plan;
}

Plan tensor_parallel() {
    Plan plan = wide(small_llama());
    plan.strategy.tensor = 2;
    plan.strategy.sequence_parallel = true;
    return plan;
}

Plan pipeline() {
    Plan plan = wide(small_gpt());
    plan.strategy.pipeline = 2;
    return plan;
}

Plan data_parallel() {
    Plan plan = wide(small_gpt());
    plan.strategy.data = 2;
    plan.strategy.sharding = strategies::Sharding::zero1;
    plan.strategy.overlap_grad_reduce = true;
    plan.strategy.overlap_param_gather = true;
    return plan;
}

Plan tensor_and_pipeline() {
    Plan plan = wide(small_llama());
    plan.strategy.tensor = 2;
    plan.strategy.pipeline = 2;
    return plan;
}

/// Two tensor ranks draw their parts of the same masks, once more in the backward.
Plan dropouts() {
    Plan plan = tensor_parallel();
    plan.model = wide(small_gpt()).model;
    plan.model.dropout = 0.2;
    plan.strategy.recompute = strategies::Recompute::full;
    plan.training.fused_attention = false;
    return plan;
}

class EmulatedRanks : public testing::TestWithParam<Case> {
protected:
    static Plan plan() {
        Plan plan;
        GetParam().change(plan);
        return plan;
    }
};

constexpr std::uint32_t few = 3;

/// All wait until the host does, everything runs as it is queued, and much between.
constexpr std::array eagernesses{0.0, 0.3, 1.0, 100.0};

TEST_P(EmulatedRanks, TrainAsTheReferenceInEveryOrder) {
    const Plan plan = this->plan();
    Plan one = plan;
    one.strategy = {};
    const auto reference = train_reference(one, fast(), few);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const Ran ran = train(plan, seed, eagernesses[seed % eagernesses.size()], few);
        SCOPED_TRACE(emulated::describe_setup());
        for (std::uint32_t step = 0; step < few; ++step)
            EXPECT_NEAR(ran.losses[step], reference[step].loss, 5e-5 * reference[step].loss) << "step " << step;
        for (const std::string& race : ran.races) ADD_FAILURE() << race;
    }
    EXPECT_EQ(emulated::living(emulated::Kind::device), 0u);
    EXPECT_EQ(emulated::living(emulated::Kind::pinned), 0u);
}

const Case cases[]{{"Tensor", [](Plan& p) { p = tensor_parallel(); }},
                   {"Pipeline", [](Plan& p) { p = pipeline(); }},
                   {"Data", [](Plan& p) { p = data_parallel(); }},
                   {"TensorAndPipeline", [](Plan& p) { p = tensor_and_pipeline(); }},
                   {"Dropouts", [](Plan& p) { p = dropouts(); }}};

INSTANTIATE_TEST_SUITE_P(Plans, EmulatedRanks, testing::ValuesIn(cases),
                         [](const auto& instance) { return std::string(instance.param.name); });

/// A lane's wait for another that is left out is a race, but where another wait covers it.
TEST(EmulatedRaces, ALostWaitIsSeen) {
    const Plan plan = data_parallel();
    const Ran right = train(plan, 1, 0.3, 1);
    ASSERT_GT(right.waits, 4u);
    EXPECT_TRUE(right.races.empty());
    std::uint64_t raced = 0;
    for (std::uint64_t lost = 0; lost < right.waits; ++lost)
        raced += train(plan, 1 + lost, 0.3, 1, lost).races.empty() ? 0 : 1;
    EXPECT_GT(raced, 0u) << "of " << right.waits << " waits";
}

}  // namespace
}  // namespace orrery::run
