// Time of every operation that does not depend on other ranks: device time and host time, per program.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "calibrate/predictor.hpp"
#include "sim/folding.hpp"
#include "sim/host_copies.hpp"
#include "sim/network.hpp"
#include "strategies/plan.hpp"
#include "strategies/step_program.hpp"

namespace orrery::sim {

/// Where the device time of an operation or block goes.
struct Shares {
    double gemm = 0,  ///< and convolutions
        attention = 0, memory_bound = 0, tensor_comm = 0;
    double expert_comm = 0;  ///< of a block: its exchanges of tokens
    Shares& operator+=(const Shares& other);
};

/// An operation begins at max(device ready, host + first_dispatch) and ends at max(begin of a free device + device,
/// host + host_to_end); the host is free again at host + host. For one kernel host = first_dispatch and
/// host_to_end = host + device; a block composes its kernels exactly (the recurrence is linear in max-plus algebra).
struct OpCost {
    double device = 0;
    double host = 0;
    double first_dispatch = 0;
    double host_to_end = 0;
};

/// Per kernel of StepProgram::kernels.
struct KernelCost {
    double seconds = 0;
    bool extrapolated = false;
};

class Costs {
public:
    /// `step` may hold calls or be unrolled. Collectives of blocks run inside one node, over the tensor and expert
    /// axes. A GPU whose memory is slower or faster than the profile's device (A100 with 40 and 80 GB) takes
    /// proportionally longer or shorter over memory-bound kernels. slowed: kernels beside a collective take longer (the
    /// profile's overlap_slowdown). folding: of the step, where groups and their links are looked up; without it they
    /// are worked out. rank: one that runs on the GPU, whose groups stand for those of all.
    Costs(const strategies::StepProgram& step, const strategies::Plan& plan, const topology::Gpu& gpu,
          const calibrate::Predictor& predictor, const Network& network, bool slowed = true,
          const Folding* folding = nullptr, std::uint32_t rank = 0);

    /// For the step with its calls unrolled: operations of a block keep the times that they have in it, so that both
    /// come to the same end. `step` is that of the constructor.
    [[nodiscard]] Costs unrolled(const strategies::StepProgram& step) &&;

    [[nodiscard]] const OpCost& of(std::uint32_t role, std::uint32_t op) const { return programs_[role][op]; }
    [[nodiscard]] const std::vector<KernelCost>& kernels() const { return kernels_; }
    [[nodiscard]] const OpCost& block(std::uint32_t block) const { return blocks_[block]; }
    [[nodiscard]] const Shares& block_shares(std::uint32_t block) const { return shares_[block]; }
    /// Nothing in a step without copies.
    [[nodiscard]] const std::optional<HostCopies>& host_copies() const { return copies_; }

private:
    [[nodiscard]] OpCost cost(const strategies::Op& op) const;
    [[nodiscard]] std::vector<double> block_times(const strategies::StepProgram& step,
                                                  const strategies::Program& block) const;
    [[nodiscard]] OpCost block_cost(const strategies::Program& block, const std::vector<double>& times) const;
    [[nodiscard]] OpCost kernel_cost(double seconds) const {
        return {seconds, dispatch_, dispatch_, dispatch_ + seconds};
    }
    [[nodiscard]] double collective_seconds(const strategies::StepProgram& step, const strategies::Collective& c) const;
    [[nodiscard]] Shares shares_of(const strategies::StepProgram& step, const strategies::Program& block,
                                   const std::vector<double>& times) const;
    void slow_down_beside_collectives(const strategies::StepProgram& step);

    /// The rank's group of a set, with the link that binds it alone.
    struct Group {
        std::vector<topology::GpuId> gpus;
        std::vector<LinkUse> alone;
    };
    [[nodiscard]] const Group& group(const strategies::StepProgram& step, strategies::AxisSet set) const;

    const Network& network_;
    const Folding* folding_;
    std::uint32_t rank_;
    strategies::RankPlacement placement_;
    mutable std::map<std::uint8_t, Group> groups_;  // by bits of the set
    double gap_, dispatch_, slowdown_;
    std::optional<HostCopies> copies_;
    std::vector<KernelCost> kernels_;
    std::vector<OpCost> blocks_;
    std::vector<std::vector<double>> block_times_;  // of each operation, seconds
    std::vector<Shares> shares_;
    std::vector<std::vector<OpCost>> programs_;
};

/// Seconds of a kernel by category, for reports: convolutions are products.
Shares share_of(const kernels::Kernel& kernel, double seconds);
/// Whether its bytes decide its time: all but products, convolutions and attention.
bool is_memory_bound(const kernels::Kernel& kernel);

}  // namespace orrery::sim
