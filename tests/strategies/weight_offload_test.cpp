// Weights in host memory or on drives: what crosses which link how often, and what devices and hosts hold.
#include "strategies/weight_offload.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "strategies/build.hpp"
#include "strategies/hazards.hpp"
#include "strategies/memory.hpp"
#include "strategies/optimizer_phase.hpp"
#include "strategies/stage.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

constexpr std::uint64_t weight = 2;  // bytes, in bf16

Plan offloading(OffloadDevice weights, OffloadDevice states = OffloadDevice::none, std::uint32_t data = 2) {
    Plan plan = tiny_plan(1, 1, data);
    plan.model.layers = 8;
    plan.model.tied_embeddings = false;
    plan.strategy.sharding = Sharding::zero3;
    plan.strategy.overlap_grad_reduce = true;
    plan.strategy.bucket_bytes = 20'000;
    plan.strategy.param_device = weights;
    if (states == OffloadDevice::none) return plan;
    plan.strategy.optimizer_cpu_offload = plan.strategy.overlap_optimizer_copies = true;
    plan.strategy.optimizer_device = states == OffloadDevice::nvme ? OptimizerDevice::nvme : OptimizerDevice::cpu;
    return plan;
}

/// Of the parameters of the one stage: all of a rank's shares, rounded as each layer's is; and the largest layer's.
struct Shares {
    std::uint64_t all = 0, largest = 0;
    explicit Shares(const Plan& plan) {
        StepProgram scratch;
        scratch.mesh = plan.mesh();
        Intern intern(scratch);
        const ModelBlocks blocks = add_model_blocks(scratch, intern, plan);
        const Stage stage = place_layers(blocks, plan, 0);
        for (const PlacedLayer& layer : stage.chunks[0]) {
            const std::uint64_t of = layer.blocks->counts.trained / plan.strategy.data;
            all += of;
            largest = std::max(largest, of);
        }
    }
};

/// Bytes by the name of their copies.
std::map<std::string, std::uint64_t> copied(const StepProgram& step) {
    std::map<std::string, std::uint64_t> bytes;
    for (const Op& op : step.programs[0].ops) {
        const auto* copy = std::get_if<Copy>(&op.what);
        if (copy == nullptr) continue;
        bytes[step.names[op.label.name]] += copy->bytes;
        const Lane lane = copy->to == Copy::To::host      ? Lane::offload
                          : copy->to == Copy::To::device  ? Lane::reload
                          : copy->to == Copy::To::storage ? Lane::write_storage
                                                          : Lane::read_storage;
        EXPECT_EQ(op.lane, lane);
    }
    return bytes;
}

/// Each share comes once for a forward and once for a backward of each micro-batch.
TEST(WeightOffload, SharesCrossEachLinkOnceAUse) {
    for (const std::uint32_t data : {1U, 2U, 4U})
        for (const auto weights : {OffloadDevice::cpu, OffloadDevice::nvme}) {
            const Plan plan = offloading(weights, OffloadDevice::none, data);
            validate(plan);
            const StepProgram step = build(plan);
            EXPECT_EQ(verify(step), std::vector<std::string>{});
            auto bytes = copied(step);
            const Shares shares(plan);
            const std::uint64_t uses = 2ULL * plan.micro_batches() * weight * shares.all;
            const bool on = weights == OffloadDevice::nvme;
            EXPECT_EQ(bytes["weights to device"], uses);
            EXPECT_EQ(bytes["weights from storage"], on ? uses : 0);
            EXPECT_NEAR(static_cast<double>(bytes["weights to host"]), static_cast<double>(weight * shares.all), 50);
            EXPECT_EQ(bytes["weights to storage"], on ? bytes["weights to host"] : 0);
        }
}

TEST(WeightOffload, NewWeightsPassThroughTwoBuffers) {
    Plan plan = offloading(OffloadDevice::nvme);
    plan.model.hidden = 2048;
    plan.model.ffn = 8192;
    plan.model.head_dim = 512;
    const StepProgram step = build(plan);
    EXPECT_EQ(verify(step), std::vector<std::string>{});
    const Shares shares(plan);
    constexpr std::uint64_t buffer = 100'000'000;
    ASSERT_GT(shares.all, 2 * buffer);
    EXPECT_NEAR(static_cast<double>(copied(step)["weights to storage"]), static_cast<double>(weight * shares.all), 50);
    const StageMemory used = memory(step, 0);
    EXPECT_EQ(used.host, 2 * weight * buffer);
    EXPECT_GT(used.host, 4 * weight * shares.largest) << "more than what is being read";
}

/// Tied words stay from their forward to their backward, and come once for both.
TEST(WeightOffload, WordsThatAreLentComeOnce) {
    Plan plan = offloading(OffloadDevice::cpu);
    plan.model.tied_embeddings = true;
    const StepProgram step = build(plan);
    EXPECT_EQ(verify(step), std::vector<std::string>{});
    std::uint32_t first = 0, second = 0;
    for (const Op& op : step.programs[0].ops) {
        if (step.names[op.label.name] != "weights to device") continue;
        first += op.label.layer == step.programs[0].state.layers[0].layer ? 1 : 0;
        second += op.label.layer == step.programs[0].state.layers[1].layer ? 1 : 0;
    }
    EXPECT_EQ(first, plan.micro_batches());
    EXPECT_EQ(second, 2 * plan.micro_batches());
}

/// The device gives up its shares, but for those on their way: at most two layers', beside those gathered.
TEST(WeightOffload, SharesMoveFromTheDeviceToTheHost) {
    const auto peak = [](const Plan& plan) { return memory(build(plan), 0); };
    const StageMemory none = peak(offloading(OffloadDevice::none)), cpu = peak(offloading(OffloadDevice::cpu)),
                      nvme = peak(offloading(OffloadDevice::nvme));
    const Shares shares(offloading(OffloadDevice::cpu));
    EXPECT_EQ(none.host, 0U);
    EXPECT_NEAR(static_cast<double>(cpu.host), static_cast<double>(weight * shares.all), 50);
    EXPECT_LE(nvme.host, cpu.host) << "what is being read, and a buffer of new weights";
    EXPECT_EQ(nvme.peak, cpu.peak);
    EXPECT_LE(none.peak, cpu.peak + weight * shares.all);
    EXPECT_GE(none.peak + 2 * weight * shares.largest, cpu.peak + weight * shares.all - 50);
}

/// Nothing of a parameter lies on a device but what is gathered and formed; sums are carried on from micro-batch to
/// micro-batch.
TEST(WeightOffload, WithTheOptimizerGradientsLeaveToo) {
    for (const std::uint32_t data : {1U, 2U})
        for (const std::uint32_t micro_batches : {1U, 4U})
            for (const auto states : {OffloadDevice::cpu, OffloadDevice::nvme}) {
                Plan plan = offloading(OffloadDevice::cpu, states, data);
                plan.training.global_batch = plan.training.micro_batch * data * micro_batches;
                validate(plan);
                const StepProgram step = build(plan);
                ASSERT_EQ(verify(step), std::vector<std::string>{});
                auto bytes = copied(step);
                const auto all = static_cast<double>(Shares(plan).all);
                const auto near = [&](const char* name, double each) {
                    EXPECT_NEAR(static_cast<double>(bytes[name]), each * all, 200) << name;
                };
                const bool on = states == OffloadDevice::nvme;
                near("gradients to host", 2.0 * micro_batches);
                near("gradient sums to device", 2.0 * (micro_batches - 1));
                near("gradients to storage", on ? 4 : 0);
                near("states from storage", on ? 16 : 0);
                near("states to storage", on ? 12 : 0);
                near("weights to device", 2.0 * 2 * micro_batches);
                near("weights to host", 0);
                const StageMemory used = memory(step, 0);
                EXPECT_EQ(used.at_peak[static_cast<std::size_t>(Keep::optimizer)], 0U);
                if (on) {
                    EXPECT_LT(static_cast<double>(used.host), (micro_batches > 1 ? 10 : 8) * all);
                } else {
                    EXPECT_NEAR(static_cast<double>(used.host), (2 + 2 + 12) * all, 200);
                }
            }
}

/// What is read for a call is on its way three calls before, behind the end of the fourth.
TEST(WeightOffload, PrefetchesAreWithinTheirBounds) {
    const StepProgram step = build(offloading(OffloadDevice::nvme));
    const Program& program = step.programs[0];
    const Hazards hazards(program);
    std::vector<std::uint32_t> calls;
    std::map<std::string, std::uint32_t> arrivals;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const std::string& name = step.names[program.ops[i].label.name];
        if (std::holds_alternative<Call>(program.ops[i].what)) calls.push_back(i);
        const std::size_t ahead = name == "weights from storage" ? 3 : name == "weights to device" ? 2 : 0;
        if (ahead == 0) continue;
        const std::uint32_t use = arrivals[name]++;
        if (use <= ahead) continue;
        EXPECT_EQ(calls.size(), use - ahead) << name;
        bool waits = false;
        for (const std::uint32_t other : hazards.of(i)) waits = waits || other == calls[use - ahead - 1];
        EXPECT_TRUE(waits) << name << " of use " << use;
    }
    EXPECT_EQ(arrivals["weights from storage"], calls.size());
}

/// With one buffer a bucket is read when the one before is written; with more, beside its update.
TEST(WeightOffload, StatesPassThroughBuffers) {
    for (const bool reads : {false, true})
        for (const bool writes : {false, true}) {
            Plan plan = offloading(OffloadDevice::none, OffloadDevice::nvme);
            plan.strategy.pipeline_read = reads;
            plan.strategy.pipeline_write = writes;
            const StepProgram step = build(plan);
            EXPECT_EQ(verify(step), std::vector<std::string>{});
            const Program& program = step.programs[0];
            const Hazards hazards(program);
            std::vector<std::uint32_t> read, updated, written;
            const auto waits = [&](std::uint32_t op, std::uint32_t other) {
                for (const std::uint32_t one : hazards.of(op))
                    if (one == other) return true;
                return false;
            };
            for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
                const std::string& name = step.names[program.ops[i].label.name];
                if (name == "states from storage") read.push_back(i);
                if (name == "adam on host") updated.push_back(i);
                if (name == "states to storage") written.push_back(i);
            }
            ASSERT_GT(read.size(), 4U);
            const std::size_t buffers = 1U + (reads ? 1 : 0) + (writes ? 1 : 0);
            for (std::size_t k = buffers; k < read.size(); ++k) {
                EXPECT_TRUE(waits(updated[k], read[k]));
                EXPECT_TRUE(waits(written[k], updated[k]));
                EXPECT_TRUE(waits(read[k], written[k - buffers]));
                EXPECT_EQ(waits(updated[k], written[k - 1]), !writes);
                EXPECT_EQ(waits(read[k], updated[k - 1]), !reads);
            }
        }
}

/// torch.distributed.fsdp's CPUOffloadPolicy: gradients leave as DeepSpeed's do.
TEST(WeightOffload, FsdpOffloadsItsSharesToo) {
    const Plan deepspeed = offloading(OffloadDevice::cpu, OffloadDevice::cpu);
    for (const auto implementation : {FsdpImplementation::fsdp1, FsdpImplementation::fsdp2}) {
        Plan plan = deepspeed;
        plan.strategy.full_sharding.implementation = implementation;
        EXPECT_EQ(refused_at(plan), "accepted");
        const StepProgram step = build(plan);
        EXPECT_EQ(verify(step), std::vector<std::string>{});
        auto moved = copied(step), others = copied(build(deepspeed));
        EXPECT_LT(moved["weights to device"], others["weights to device"]) << "the head's stay from its forward on";
        moved.erase("weights to device");
        others.erase("weights to device");
        EXPECT_EQ(moved, others);
        plan.strategy.full_sharding.prefetch = 2;
        EXPECT_EQ(refused_at(plan), "/strategy/fsdp_prefetch");
    }
}

TEST(WeightOffload, WhatDoesNotCombineIsRefused) {
    const auto pointer = [](auto change) {
        Plan plan = offloading(OffloadDevice::cpu, OffloadDevice::nvme);
        change(plan);
        return refused_at(plan);
    };
    const char *weights = "/strategy/offload_param_device", *states = "/strategy/offload_optimizer_device";
    EXPECT_EQ(pointer([](Plan&) {}), "accepted");
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.optimizer_offload_fraction = 0.5; }), "accepted");
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.pipeline = 2; }), weights);
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.optimizer_instances = 2; }), weights);
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.quantized_weights = true; }), weights);
    EXPECT_EQ(pointer([](Plan& p) {
                  p.strategy.tensor = 2;
                  p.strategy.sequence_parallel = true;
              }),
              weights);
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.sharding = Sharding::zero2; }), states);
    EXPECT_EQ(pointer([](Plan& p) {
                  p.strategy.sharding = Sharding::zero2;
                  p.strategy.optimizer_device = OptimizerDevice::cpu;
              }),
              weights);
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.overlap_optimizer_copies = false; }), states);
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.optimizer_cpu_offload = p.strategy.overlap_optimizer_copies = false; }),
              states);
    EXPECT_EQ(pointer([](Plan& p) {
                  p.strategy.optimizer_device = OptimizerDevice::cpu;
                  p.strategy.pipeline_write = true;
              }),
              "/strategy/offload_optimizer_pipeline_write");
    Plan experts = moe_plan(1, 1, 4, 1);
    experts.strategy.sharding = Sharding::zero3;
    experts.strategy.param_device = OffloadDevice::cpu;
    EXPECT_EQ(refused_at(experts), weights);
}

}  // namespace
}  // namespace orrery::strategies
