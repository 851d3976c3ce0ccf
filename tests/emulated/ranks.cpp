#include "tests/emulated/ranks.hpp"

#include <exception>
#include <thread>

#include "kernels/cuda/nccl_communicator.hpp"
#include "run/executor.hpp"
#include "strategies/build.hpp"
#include "tests/emulated/host_threads.hpp"
#include "tests/emulated/machine/machine.hpp"
#include "tests/emulated/watched.hpp"

namespace orrery::run {

namespace {

using strategies::Plan;

struct OfRank {
    std::vector<StepResult> results;
    std::set<std::string> races;
    std::uint64_t waits = 0;
    std::vector<std::byte> weights;
    std::exception_ptr failure;
};

std::vector<std::byte> weights_of(kernels::Device& device, const Executor& executor) {
    const Parameters& parameters = executor.model().parameters();
    std::vector<std::byte> weights(parameters.weight_bytes());
    device.copy(kernels::CopyKind::device_to_host, weights.data(), parameters.weights().memory, weights.size(), 0);
    device.synchronize();
    return weights;
}

void run_rank(const Plan& plan, const strategies::StepProgram& program, std::uint32_t rank,
              kernels::HostMeeting& meeting, const TrainSettings& settings, OfRank& out) {
    try {
        constexpr double timeout_seconds = 30;
        kernels::cuda::CudaDevice gpu(static_cast<int>(rank));
        kernels::WatchedDevice device(gpu);
        kernels::WatchedCommunicator world(
            std::make_unique<kernels::cuda::NcclCommunicator>(gpu, std::make_unique<kernels::HostThread>(meeting, rank),
                                                              timeout_seconds),
            device.watch());
        Executor executor(device, plan.ranks() > 1 ? &world : nullptr, plan, program, settings.run);
        if (settings.steps_only) executor.time_steps_only();
        if (settings.forget && rank == 0) device.forget_wait(device.waits() + *settings.forget);
        const std::uint64_t before = device.waits();
        for (std::uint32_t step = 0; step < settings.steps; ++step) {
            out.results.push_back(executor.step());
            if (step == 0) out.waits = device.waits() - before;
        }
        out.races = device.watch().races();
        out.weights = weights_of(device, executor);
    } catch (...) {
        out.failure = std::current_exception();
        meeting.fail();
    }
}

}  // namespace

Ran train_on_gpus(const Plan& plan, const TrainSettings& settings) {
    emulated::set_up({.gpus = static_cast<int>(plan.ranks()), .seed = settings.seed, .eagerness = settings.eagerness});
    const strategies::StepProgram program = strategies::build(plan);
    kernels::HostMeeting meeting(plan.ranks());
    std::vector<OfRank> ranks(plan.ranks());
    {
        std::vector<std::jthread> threads;
        for (std::uint32_t rank = 0; rank < plan.ranks(); ++rank)
            threads.emplace_back([&, rank] { run_rank(plan, program, rank, meeting, settings, ranks[rank]); });
    }
    Ran ran;
    for (OfRank& rank : ranks) {
        if (rank.failure) std::rethrow_exception(rank.failure);
        ran.races.insert(rank.races.begin(), rank.races.end());
        ran.weights.push_back(std::move(rank.weights));
    }
    ran.waits = ranks[0].waits;
    for (std::uint32_t step = 0; step < settings.steps; ++step) {
        double total = 0;
        int with_loss = 0;
        for (const OfRank& rank : ranks)
            if (const std::vector<double>& losses = rank.results[step].losses; !losses.empty()) {
                total += losses.front();  // these programs are of one step each
                ++with_loss;
            }
        ran.losses.push_back(total / with_loss);
        ran.skipped.push_back(ranks[0].results[step].skipped);
    }
    return ran;
}

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

Plan dropouts() {
    Plan plan = tensor_parallel();
    plan.model = wide(small_gpt()).model;
    plan.model.dropout = 0.2;
    plan.strategy.recompute = strategies::Recompute::full;
    plan.training.fused_attention = false;
    return plan;
}

}  // namespace orrery::run
