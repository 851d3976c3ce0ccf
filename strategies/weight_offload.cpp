#include "strategies/weight_offload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "strategies/refusal.hpp"
#include "strategies/state_bytes.hpp"
#include "strategies/zero_plus_plus.hpp"

namespace orrery::strategies {

namespace {

/// DeepSpeed's buffer_size of offload_param.
constexpr std::uint64_t weights_of_a_buffer = 100'000'000;

constexpr const char *of_weights = "/strategy/offload_param_device", *of_states = "/strategy/offload_optimizer_device";

void check_weights(const Plan& plan) {
    const Strategy& strategy = plan.strategy;
    if (!plan.offloads_weights()) return;
    if (strategy.sharding != Sharding::zero3)
        refuse(of_weights,
               fmt::format("given, but sharding is {}: what is offloaded are the shares of zero3",
                           row_of(strategy.sharding).name),
               "set sharding to \"zero3\", or leave it out", Source::deepspeed_keys);
    refuse_beside_zero3(plan, of_weights);
    if (strategy.optimizer_instances > 1)
        refuse(of_weights, "given beside groups that each keep all, whose gradients meet on the devices",
               "set num_distributed_optimizer_instances to 1, or leave it out", Source::not_modelled);
    if (is_zero_plus_plus(strategy))
        refuse(of_weights, "given beside ZeRO++, whose parts and quantized copies lie on the devices",
               "leave out zero_quantized_weights, zero_hpz_partition_size and zero_quantized_gradients, or this",
               Source::not_modelled);
    if (plan.sums_on_host() && strategy.sequence_parallel)
        refuse(of_weights,
               "given beside sequence parallelism, which sums gradients of norms that are on the host by then",
               "set sequence_parallel to false, or leave it out", Source::not_modelled);
}

void check_drives(const Strategy& strategy) {
    const bool nvme = strategy.optimizer_device == OptimizerDevice::nvme;
    if (nvme && !strategy.optimizer_cpu_offload)
        refuse(of_states, "nvme, but nothing is offloaded", "set optimizer_cpu_offload to true, or leave it out",
               Source::origin_of_key);
    if (nvme && strategy.sharding != Sharding::zero3)
        refuse(
            of_states,
            fmt::format("nvme, but sharding is {}: states lie on drives under zero3", row_of(strategy.sharding).name),
            "set sharding to \"zero3\", or this to \"cpu\"", Source::deepspeed_keys);
    if (nvme && !strategy.overlap_optimizer_copies)
        refuse(of_states, "nvme, but all states would be in host memory at once, where nothing goes bucket by bucket",
               "set overlap_cpu_optimizer_d2h_h2d to true, or this to \"cpu\"", Source::not_modelled);
    for (const auto& [given, key] : {std::pair(strategy.pipeline_read, "/strategy/offload_optimizer_pipeline_read"),
                                     {strategy.pipeline_write, "/strategy/offload_optimizer_pipeline_write"}})
        if (given && !nvme)
            refuse(key, "true, but no states lie on drives",
                   "set offload_optimizer_device to \"nvme\", or leave it out", Source::origin_of_key);
}

}  // namespace

void check_weight_offload(const Plan& plan) {
    check_drives(plan.strategy);
    check_weights(plan);
}

void ArrivingShares::read(std::size_t use, const Label& label, std::uint64_t bytes, std::span<const BufferId> waits) {
    if (plan_.strategy.param_device != OffloadDevice::nvme) return;
    const BufferId read = read_[use] =
        builder_.buffer({bytes, Keep::weight, Where::host, Lifetime{.span = Lifetime::Span::use}});
    builder_.emit(Lane::read_storage,
                  intern_.label("weights from storage", label.phase, label.micro_batch, label.layer),
                  What{Copy{Copy::To::host_from_storage, bytes}}, waits, std::span(&read, 1));
}

void ArrivingShares::copy(std::size_t use, const Label& label, std::uint64_t bytes, std::span<const BufferId> waits) {
    std::vector<BufferId> reads(waits.begin(), waits.end());
    if (const auto read = read_.extract(use); !read.empty()) reads.push_back(read.mapped());
    const BufferId here = on_device_[use] = builder_.buffer(bytes, Keep::weight, {.span = Lifetime::Span::use});
    builder_.emit(Lane::reload, intern_.label("weights to device", label.phase, label.micro_batch, label.layer),
                  What{Copy{Copy::To::device, bytes}}, reads, std::span(&here, 1));
}

BufferId to_drives(Builder& builder, const Label& label, std::uint64_t bytes, BufferId from) {
    const BufferId there = builder.buffer(0, Keep::scratch);
    builder.emit(Lane::write_storage, label, Copy{Copy::To::storage, bytes}, {from}, {there});
    return there;
}

void updated_weights_leave(const Plan& plan, std::uint64_t weights, BufferId updated, Builder& builder,
                           Intern& intern) {
    const bool on = plan.strategy.param_device == OffloadDevice::nvme;
    const std::uint64_t piece = on ? weights_of_a_buffer : weights, each = state_bytes(plan.training).weight;
    BufferId before = 0, written = 0;  // of the piece before: in host memory, and on drives
    std::uint64_t bytes_before = 0;
    const auto write = [&] {
        return to_drives(builder, intern.label("weights to storage", Phase::optimizer), bytes_before, before);
    };
    for (std::uint64_t first = 0; first < weights; first += piece) {
        const std::uint64_t bytes = std::min(piece, weights - first) * each;
        const BufferId left =
            builder.buffer({on ? bytes : 0, Keep::weight, Where::host, Lifetime{.span = Lifetime::Span::use}});
        std::vector<BufferId> waits{updated};
        if (first >= 2 * piece) waits.push_back(written);
        builder.emit(Lane::offload, intern.label("weights to host", Phase::optimizer),
                     What{Copy{Copy::To::host, bytes}}, waits, std::span(&left, 1));
        if (on && first > 0) written = write();
        before = left;
        bytes_before = bytes;
    }
    if (on) write();
}

}  // namespace orrery::strategies
