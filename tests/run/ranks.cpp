#include "tests/run/ranks.hpp"

#include <exception>
#include <thread>
#include <utility>

#include "kernels/number_format.hpp"
#include "kernels/thread_communicator.hpp"
#include "strategies/build.hpp"

namespace orrery::run {

namespace {

struct RankRun {
    std::vector<double> losses;
    RankMemory memory;
    Values gradients, masters, weights;
    std::vector<bool> skipped;
    std::vector<double> scales;
    std::exception_ptr failure;
};

void merge(const std::string& name, Values::mapped_type&& from, Values& into) {
    if (!from.empty()) into[name].merge(std::move(from));
}

void merge(Values&& from, Values& into) {
    for (auto& [name, elements] : from) merge(name, std::move(elements), into);
}

/// What this rank's optimizer saw and left. A CPU device's memory is the host's.
void read_parameters(const Parameters& parameters, RankRun& out) {
    const Elements& weights = parameters.weights();
    const std::vector<Share> shares = parameters.shares();
    for (const Slice& slice : parameters.slices()) {
        Values::mapped_type copies, gradients, masters;
        const auto read = [&](std::uint64_t element, std::uint64_t at) {
            if (const void* const weight = parameters.weight(at))
                copies.emplace_hint(copies.end(), element, kernels::decode(kernels::format_of(weights.dtype), weight));
            for (const Share& share : shares) {
                if (at < share.range.begin || at >= share.range.end) continue;
                const std::uint64_t i = at - share.range.begin;
                gradients.emplace_hint(gradients.end(), element, static_cast<double>(share.gradient[i]));
                masters.emplace_hint(masters.end(), element, static_cast<double>(share.master[i]));
            }
        };
        std::uint64_t at = parameters.offsets().at(slice.name);
        const std::uint64_t looked_at = one_of(slice.elements());
        for (const auto& [first, count] : slice.rows)
            for (std::uint64_t row = first; row < first + count; ++row)
                for (std::uint64_t col = slice.first_col; col < slice.first_col + slice.cols; ++col, ++at)
                    if (const std::uint64_t element = row * slice.global_cols + col; element % looked_at == 0)
                        read(element, at);
        merge(slice.name, std::move(copies), out.weights);
        merge(slice.name, std::move(gradients), out.gradients);
        merge(slice.name, std::move(masters), out.masters);
    }
}

void run_rank(kernels::Device& device, kernels::Communicator& world, const strategies::Plan& plan,
              const strategies::StepProgram& program, const RunSettings& settings, std::uint32_t steps, RankRun& out) {
    try {
        Executor executor(device, &world, plan, program, settings);
        for (std::uint32_t i = 0; i < steps; i += program.steps) {
            const StepResult result = executor.step();
            out.losses.insert(out.losses.end(), result.losses.begin(), result.losses.end());
            out.skipped.push_back(result.skipped);
            out.scales.push_back(result.loss_scale.value_or(1));
        }
        out.memory = executor.memory();
        read_parameters(executor.model().parameters(), out);
    } catch (const std::exception& error) {
        out.failure = std::current_exception();
        world.abort(error.what());
    }
}

}  // namespace

strategies::Plan small_plan(std::uint32_t layers, std::uint32_t global_batch) {
    strategies::Plan plan;
    plan.model = {.name = "small",
                  .layers = layers,
                  .hidden = 16,
                  .heads = 2,
                  .kv_heads = 2,
                  .head_dim = 8,
                  .ffn = 32,
                  .vocab = 64,
                  .max_positions = 8};
    plan.training.seq = 8;
    plan.training.micro_batch = 2;
    plan.training.global_batch = global_batch;
    plan.training.precision = {kernels::Dtype::fp32, kernels::Dtype::fp32};
    return plan;
}

strategies::StepProgram program_of(const strategies::Plan& plan) {
    strategies::validate(plan);
    return strategies::build(plan);
}

Trained train(const strategies::Plan& plan, const RunSettings& settings, std::uint32_t steps) {
    return run_program(plan, program_of(plan), settings, steps);
}

Trained run_program(const strategies::Plan& plan, const strategies::StepProgram& program, const RunSettings& settings,
                    std::uint32_t steps) {
    std::vector<std::unique_ptr<kernels::Device>> devices;
    std::vector<kernels::Device*> pointers;
    for (std::uint32_t r = 0; r < plan.ranks(); ++r) {
        devices.push_back(kernels::open_device("cpu"));
        pointers.push_back(devices.back().get());
    }
    const auto world = kernels::thread_world(pointers);
    std::vector<RankRun> runs(plan.ranks());
    {
        std::vector<std::jthread> threads;
        for (std::uint32_t r = 0; r < plan.ranks(); ++r)
            threads.emplace_back([&, r] { run_rank(*devices[r], *world[r], plan, program, settings, steps, runs[r]); });
    }
    Trained trained;
    for (RankRun& run : runs) {
        if (run.failure) std::rethrow_exception(run.failure);
        trained.memory.push_back(run.memory);
        merge(std::move(run.gradients), trained.gradients);
        merge(std::move(run.masters), trained.masters);
        trained.weights.push_back(std::move(run.weights));
        trained.skipped.push_back(run.skipped);
    }
    trained.scales = runs.front().scales;
    for (std::uint32_t step = 0; step < steps; ++step) {
        double total = 0;
        int count = 0;
        for (const RankRun& run : runs)
            if (!run.losses.empty()) {
                total += run.losses[step];
                ++count;
            }
        if (count > 0) trained.losses.push_back(total / count);
    }
    return trained;
}

}  // namespace orrery::run
