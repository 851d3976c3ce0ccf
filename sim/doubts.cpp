#include "sim/doubts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "calibrate/plausible.hpp"

namespace orrery::sim {

namespace {

/// Seconds by what they are derived from, in one order.
using Seconds = std::vector<double>;

/// All that kernels may be derived from, each once, in the order of the alphabet.
std::vector<std::string_view> origins_of(const KindCosts& costs) {
    std::set<std::string_view> all;
    for (std::uint32_t kind = 0; kind < costs.size(); ++kind)
        for (const KernelCost& kernel : costs[kind].kernels())
            if (!kernel.derived.empty()) all.insert(kernel.derived);
    return {all.begin(), all.end()};
}

/// A kernel's seconds, and the number of what they are derived from.
struct DerivedKernel {
    double seconds;
    std::size_t origin;
};

/// By kernel; of those that were measured one past the last.
std::vector<DerivedKernel> derived_kernels(const std::vector<KernelCost>& kernels,
                                           const std::vector<std::string_view>& origins) {
    std::vector<DerivedKernel> list;
    for (const KernelCost& kernel : kernels) {
        const auto found = std::ranges::find(origins, kernel.derived);
        list.push_back({kernel.seconds, static_cast<std::size_t>(found - origins.begin())});
    }
    return list;
}

/// Of one execution of a program; blocks: of each block.
Seconds derived_in(const strategies::Program& program, const std::vector<DerivedKernel>& kernels, std::size_t origins,
                   const std::vector<Seconds>& blocks) {
    Seconds seconds(origins);
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const strategies::Op& op = program.ops[i];
        const auto times = static_cast<double>(program.rounds.times(i));
        if (const auto* compute = std::get_if<strategies::Compute>(&op.what)) {
            const DerivedKernel& kernel = kernels[compute->kernel];
            if (kernel.origin < origins) seconds[kernel.origin] += times * kernel.seconds;
        } else if (const auto* call = std::get_if<strategies::Call>(&op.what)) {
            for (std::size_t what = 0; what < origins; ++what)
                seconds[what] += times * call->times * blocks[call->block][what];
        }
    }
    return seconds;
}

std::string derived_text(const std::vector<Derived>& derived) {
    double all = 0;
    std::vector<std::string> parts;
    for (const Derived& part : derived) {
        all += part.share;
        parts.push_back(fmt::format("{} {:.1f}%", part.what, 100 * part.share));
    }
    return fmt::format("{:.0f}% of the step's time is derived, not measured: {}", 100 * all, fmt::join(parts, ", "));
}

/// Kernels, as text, that lie outside the measured range.
std::set<std::string> extrapolated(const RanStep& ran) {
    std::set<std::string> outside;
    for (std::uint32_t kind = 0; kind < ran.costs.size(); ++kind)
        for (std::size_t k = 0; k < ran.program.kernels.size(); ++k)
            if (ran.costs[kind].kernels()[k].extrapolated && !is_memory_bound(ran.program.kernels[k]))
                outside.insert(kernels::to_text(ran.program.kernels[k]));
    return outside;
}

}  // namespace

std::vector<Derived> derived_shares(const RanStep& ran, double step_time_s) {
    const strategies::StepProgram& step = ran.program;
    const std::uint32_t stages = step.mesh.along(strategies::Axis::pipeline);
    const std::vector<std::string_view> origins = origins_of(ran.costs);
    if (origins.empty()) return {};
    Seconds total(origins.size());
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
        const RankClass& slowest = ran.slowest_of_stage(stage);
        const auto kernels = derived_kernels(ran.costs.of_rank(slowest.representative).kernels(), origins);
        std::vector<Seconds> blocks;
        for (const strategies::Program& block : step.blocks)
            blocks.push_back(derived_in(block, kernels, origins.size(), {}));
        const Seconds of_stage = derived_in(step.programs[slowest.role], kernels, origins.size(), blocks);
        for (std::size_t what = 0; what < origins.size(); ++what) total[what] += of_stage[what] / stages / step.steps;
    }
    std::vector<Derived> shares;
    for (std::size_t what = 0; what < origins.size(); ++what)
        if (total[what] > 0) shares.push_back({std::string(origins[what]), total[what] / step_time_s});
    std::ranges::stable_sort(shares, std::ranges::greater{}, &Derived::share);
    return shares;
}

std::vector<std::string> doubts(const RanStep& ran, const strategies::RankPlacement& placement,
                                const std::vector<Derived>& derived) {
    std::vector<std::string> warnings;
    if (!derived.empty()) warnings.push_back(derived_text(derived));
    if (const std::set<std::string> outside = extrapolated(ran); !outside.empty())
        warnings.push_back(
            fmt::format("{} kernel shapes lie outside the measured range and are extrapolated, among them {}",
                        outside.size(), *outside.begin()));
    const Kinds& kinds = ran.network.kinds();
    for (std::uint32_t number = 0; number < ran.costs.size(); ++number) {
        const GpuKind& kind = kinds[kinds.of(placement.gpu(ran.costs.first_rank(number)))];
        for (std::string& text : calibrate::implausible(*kind.predictor, kind.gpu)) warnings.push_back(std::move(text));
    }
    return warnings;
}

std::vector<std::string> doubts(const Rates& rates, const std::string& profile) {
    const double most = std::max(rates.mfu, rates.hfu);
    if (most <= 1) return {};
    return {
        fmt::format("{:.0f}% of the datasheet's FLOP/s cannot be: look for a wrong constant or table (`orrery "
                    "profile show {}`)",
                    100 * most, profile)};
}

}  // namespace orrery::sim
