// Time of every operation that does not depend on other ranks: device time and host time, per program.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/enum_table.hpp"
#include "calibrate/predictor.hpp"
#include "hardware/host_time.hpp"
#include "sim/beside.hpp"
#include "sim/folding.hpp"
#include "sim/host_copies.hpp"
#include "sim/host_cores.hpp"
#include "sim/kernel_price.hpp"
#include "sim/launches.hpp"
#include "sim/network.hpp"
#include "sim/node_drives.hpp"
#include "sim/step.hpp"
#include "strategies/hazards.hpp"
#include "strategies/optimizers.hpp"
#include "strategies/plan.hpp"
#include "strategies/step_program.hpp"

namespace orrery::sim {

/// Long before any step.
inline constexpr double never = -std::numeric_limits<double>::infinity();

/// What the seconds of a kernel are.
enum class ShareOf : std::uint8_t { gemm, attention, memory_bound };

/// The member for them, of sums that have one for each.
template <class Sums>
double& part_of(Sums& sums, ShareOf what) {
    switch (what) {
        case ShareOf::gemm: return sums.gemm;
        case ShareOf::attention: return sums.attention;
        case ShareOf::memory_bound: break;
    }
    return sums.memory_bound;
}

/// Where the device time of an operation or block goes.
struct Shares {
    double gemm = 0,  ///< and convolutions
        attention = 0, memory_bound = 0, tensor_comm = 0;
    double expert_comm = 0;             ///< exchanges of tokens
    double data_comm = 0, offload = 0;  ///< what kernels take longer beside them
};

/// An operation begins at max(device ready, host + first_dispatch) and ends at max(begin of a free device + device,
/// host + host_to_end); the host is free again at host + host. For one kernel host = first_dispatch and
/// host_to_end = host + device; of several that are launched one after the other, each an equal part, the last ends its
/// part behind the last launch; a block composes its kernels exactly (the recurrence is linear in max-plus algebra).
struct OpCost {
    double device = 0;
    double host = 0;
    double first_dispatch = 0;
    double host_to_end = 0;
    bool operator==(const OpCost&) const = default;

    /// Of both, `next` behind this one.
    [[nodiscard]] OpCost then(const OpCost& next) const {
        return {device + next.device, host + next.host, first_dispatch,
                std::max(host_to_end + next.device, host + next.host_to_end)};
    }
};

/// An operation of a block: all its seconds, and those of them by which it is slowed.
struct OpTime {
    double seconds = 0;
    Slowed slowed = {};
};

/// What the host does for an operation: seconds until it has made the first launch, and all of them.
struct HandOut {
    double first = 0, all = 0;
    std::uint32_t launches = 1;

    /// The end that they allow an operation of so many seconds of the device, when the first could be made at `host`.
    [[nodiscard]] double soonest_end(double seconds, double host) const {
        const double behind_first = host + first + seconds;
        return launches == 1 ? behind_first : std::max(behind_first, host + all + seconds / launches);
    }
};

/// When the host had made an operation's first launch, and the end that all of its launches allow.
struct Issued {
    double first = never, end = never;
};

/// A block as one call runs it.
struct BlockTimes {
    std::vector<OpTime> ops;
    OpCost cost;
    Shares shares;  ///< of cost.device; waits for its own collectives are theirs
};

/// Per kernel of StepProgram::kernels.
struct KernelCost {
    double seconds = 0;
    bool extrapolated = false;
    std::string_view derived = {};  ///< as calibrate::Estimate says it
    Launches launches = {};         ///< where it is on routed tokens
    bool product = false;
    bool spares = false;  ///< leaves multiprocessors to a collective beside it
    double hooks = 0;     ///< seconds of the host around its module (module_hooks.hpp), in a step's layers
};

/// What kernels do beside a collective: take longer (Beside, by the profile's overlap_slowdown), or as long as alone.
enum class BesideCollectives : std::uint8_t { slowed, as_alone };

class Costs {
public:
    /// `step` may hold calls or be unrolled. Collectives of blocks run inside one node, over the tensor and expert
    /// axes; called or one by one, its operations take the same times. A GPU whose memory is slower or faster than the
    /// profile's device (A100 with 40 and 80 GB) takes proportionally longer or shorter over memory-bound kernels.
    /// Others run at the rate of the slowest of the ranks' boards, for which all wait: its mean, by the profile's
    /// board_spread. folding: of the step, where groups and their links are looked up; without it they are worked out.
    /// rank: one that runs on the GPU, whose groups stand for those of all. clock: `highest` where `step` is a part of
    /// one.
    Costs(const strategies::StepProgram& step, const strategies::Plan& plan, const topology::Gpu& gpu,
          const calibrate::Predictor& predictor, const Network& network,
          BesideCollectives beside = BesideCollectives::slowed, const Folding* folding = nullptr,
          std::uint32_t rank = 0, StepClock clock = StepClock::of_the_program);

    [[nodiscard]] const OpCost& of(std::uint32_t role, std::uint32_t op) const { return programs_[role][op]; }
    [[nodiscard]] const std::vector<KernelCost>& kernels() const { return kernels_; }
    /// Of a shortened program: whether what runs beside its last written round began and is left as in the round
    /// before.
    [[nodiscard]] bool steady(std::uint32_t role) const { return steady_[role]; }
    /// By what a kernel of the program is slowed; of() counts it.
    [[nodiscard]] Slowed slowed(std::uint32_t role, std::uint32_t op) const;
    /// The block that an operation calls, as it is run there for the time number `time`, from 0.
    [[nodiscard]] const BlockTimes& call(std::uint32_t role, std::uint32_t op, std::uint32_t block,
                                         std::uint32_t time = 0) const;
    /// A block that is called beside nothing, and what the host does for each of its operations.
    [[nodiscard]] const BlockTimes& block(std::uint32_t number) const { return blocks_[number]; }
    [[nodiscard]] const std::vector<HandOut>& hand_outs(std::uint32_t block) const { return bodies_[block].hand_outs; }
    /// When the operations of the block run if the device is free for it at `device` and the host at `host`, either of
    /// which may be minus infinity: long before; gives the last end. tell(number, issued) of each, in order, when its
    /// span is known, says whether to go on.
    template <class Tell>
    double run(std::uint32_t block, const std::vector<OpTime>& times, double device, double host,
               std::vector<Span>& spans, const Tell& tell) const;
    double run(std::uint32_t block, const std::vector<OpTime>& times, double device, double host,
               std::vector<Span>& spans) const {
        return run(block, times, device, host, spans,
                   [](std::uint32_t /*number*/, const Issued& /*issued*/) { return true; });
    }
    /// Seconds of the host for an operation that is no call: those on routed tokens, or all but a router's
    /// operators, may stay out of a CUDA graph; an update and operators that layers leave to the framework
    /// (Label::plain) are the framework's own, whoever wrote the layers; a product of an update (Muon's) is one plain
    /// kernel. What an engine's loop hands out (Label::looped) costs a turn of it. Hooks around modules come on top.
    [[nodiscard]] double dispatch(const strategies::Op& op) const;
    /// The same with all of its launches, the first of which dispatch() counts.
    [[nodiscard]] HandOut hand_out(const strategies::Op& op) const {
        const Launches of_kernel = launches(op);
        const double first = dispatch(op);
        return {first, first + (of_kernel.parts - 1) * of_kernel.further, of_kernel.parts};
    }
    /// Nothing in a step without copies.
    [[nodiscard]] const std::optional<HostCopies>& host_copies() const { return copies_; }
    /// Nothing in a step whose hosts compute nothing.
    [[nodiscard]] const std::optional<HostCores>& host_cores() const { return cores_; }
    /// Where it uses the drives of its nodes.
    [[nodiscard]] const std::optional<NodeDrives>& node_drives() const { return drives_; }

private:
    /// Null of what computes nothing.
    [[nodiscard]] const KernelCost* kernel_of(const strategies::Op& op) const {
        const auto* const compute = std::get_if<strategies::Compute>(&op.what);
        return compute != nullptr ? &kernels_[compute->kernel] : nullptr;
    }
    [[nodiscard]] double hooks(const strategies::Op& op) const {
        const KernelCost* const kernel = kernel_of(op);
        return kernel != nullptr ? kernel->hooks : 0;
    }
    /// Of the host for an operation of the layers, its hooks aside.
    [[nodiscard]] double layer_dispatch(const strategies::Op& op, hardware::Way way) const;
    [[nodiscard]] bool is_product(const strategies::Op& op) const {
        const KernelCost* const kernel = kernel_of(op);
        return kernel != nullptr && kernel->product;
    }
    [[nodiscard]] OpCost cost(const strategies::StepProgram& step, const strategies::Op& op) const;
    [[nodiscard]] OpCost kernel_cost(const strategies::Op& op, double seconds) const {
        const HandOut host = hand_out(op);
        return {seconds, host.all, host.first, host.soonest_end(seconds, 0)};
    }
    [[nodiscard]] Launches launches(const strategies::Op& op) const {
        const KernelCost* const kernel = kernel_of(op);
        return op.label.routed && kernel != nullptr ? kernel->launches : Launches{};
    }
    [[nodiscard]] double collective_seconds(const strategies::StepProgram& step, const strategies::Collective& c) const;
    [[nodiscard]] BlockTimes block_times(const strategies::StepProgram& step, std::uint32_t block,
                                         Beside& beside) const;
    [[nodiscard]] double awaited_exchanges(std::uint32_t number, const std::vector<Span>& spans) const;
    [[nodiscard]] Shares shares_of(const strategies::StepProgram& step, const strategies::Program& block,
                                   const BlockTimes& times, double awaited) const;
    [[nodiscard]] const OpCost& call_alone(const strategies::Call& call) const;
    [[nodiscard]] OpCost call_beside(const strategies::StepProgram& step, const strategies::Call& call, Beside& beside,
                                     std::vector<BlockTimes>& times) const;
    void time(const strategies::StepProgram& step, std::uint32_t role);

    /// A block's operations, what they wait for, and their hosts.
    struct Body {
        const strategies::Program* program;
        strategies::Hazards hazards;
        std::vector<HandOut> hand_outs;
    };
    /// The rank's group of a set, with the link that binds it alone.
    struct Group {
        std::vector<topology::GpuId> gpus;
        std::vector<LinkUse> alone;
        Contention lost;
    };
    [[nodiscard]] Contention lost_beside(const strategies::StepProgram& step, const strategies::Op& op) const;
    [[nodiscard]] const Group& group(const strategies::StepProgram& step, strategies::AxisSet set) const;

    const Network& network_;
    const Folding* folding_;
    std::uint32_t rank_;
    strategies::RankPlacement placement_;
    mutable std::map<strategies::AxisSet::Bits, Group> groups_;  // by bits of the set
    mutable std::map<std::tuple<kernels::CollectiveKind, strategies::AxisSet::Bits, std::uint64_t, std::uint32_t>,
                     double>
        collectives_;  // seconds
    double gap_;
    EnumTable<hardware::Way, double> dispatch_, routed_dispatch_, message_dispatch_, router_dispatch_, plain_dispatch_;
    double looped_product_, looped_message_;
    bool slows_;
    const topology::Gpu& gpu_;
    const calibrate::Predictor& predictor_;
    std::optional<HostCopies> copies_;
    std::optional<HostCores> cores_;
    std::optional<NodeDrives> drives_;
    std::vector<KernelCost> kernels_;
    std::vector<Body> bodies_;                           // of blocks
    std::vector<BlockTimes> blocks_;                     // beside nothing
    mutable std::vector<std::vector<OpCost>> repeated_;  // of each block: once, twice, ... as far as it is called so
    std::vector<std::vector<OpCost>> programs_;
    std::vector<bool> steady_;  // by role
    // By role and operation: calls beside something, a block's times each time, and kernels beside something.
    std::vector<std::map<std::uint32_t, std::vector<BlockTimes>>> calls_;
    std::vector<std::map<std::uint32_t, Slowed>> slowed_;
};

template <class Tell>
double Costs::run(std::uint32_t block, const std::vector<OpTime>& times, double device, double host,
                  std::vector<Span>& spans, const Tell& tell) const {
    const auto& [program, hazards, hand_outs] = bodies_[block];
    std::array<double, strategies::lanes> free{};
    free.fill(never);
    free[static_cast<std::size_t>(strategies::Lane::compute)] = device;
    spans.resize(program->ops.size());
    double last = never;
    for (std::uint32_t i = 0; i < program->ops.size(); ++i) {
        const HandOut& out = hand_outs[i];
        auto& lane = free[static_cast<std::size_t>(program->ops[i].lane)];
        const Issued issued{host + out.first, out.soonest_end(times[i].seconds, host)};
        double begin = std::max(lane, issued.first);
        for (const std::uint32_t other : hazards.of(i)) begin = std::max(begin, spans[other].end);
        spans[i] = {begin, std::max(begin + times[i].seconds, issued.end)};
        host += out.all;
        lane = spans[i].end;
        last = std::max(last, lane);
        if (!tell(i, issued)) break;
    }
    return last;
}

/// A kernel's category, for reports: convolutions are products.
ShareOf share_of(const kernels::Kernel& kernel);
/// Whether its bytes decide its time: all but products, convolutions and attention.
bool is_memory_bound(const kernels::Kernel& kernel);

}  // namespace orrery::sim
