#include "sim/interval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/normal.hpp"
#include "hardware/datasheets.hpp"

namespace orrery::sim {

namespace {

/// Of kernels of a kind that a profile never held out.
constexpr double unknown_error = 0.1;
/// Bus bandwidths of all_reduces across nodes, where no table exists: half of the four clusters that gave no constant
/// lie within 14.4% (docs/validation.md).
constexpr double across_nodes = 0.144;
/// Kernels priced by others of like access: norms reach 32 to 85% of the bandwidth, by who wrote them (calibrate/
/// README.md).
constexpr double derived_error = 0.25;
/// Steps of megatron_ci_tiny, which wait for the host, scatter by so much about what is predicted (standard deviation
/// of the relative error; the source is among those that were looked at).
constexpr double host_error = 0.26;
/// Copies to hosts and updates there: those of 1 to 10 billion parameters reach 39 to 53% of a host's memory (Ren et
/// al. 2021, arXiv:2101.06840, table 4), half of that range about what is taken.
constexpr double host_work_error = (0.53 - 0.39) / 2 / hardware::host_adam_share;
/// How far what one scenario took lies from its mean, where it was published more than once, by releases of the
/// software and machines that it does not tell apart: 174 scenarios of nvidia_megatron_bridge (3.0%),
/// nvidia_dgxc_benchmarking (2.1%), nvidia_nemo_docs (5.4%) and nvidia_dle (7.3%), the root of the mean square of the
/// four. Of measurements alone: no prediction is in it.
constexpr double software_spread = 0.049;
/// Likewise of steps that scripts of many hands run, down and up, of three blind tests of PyTorch's and DeepSpeed's
/// stacks: 38 of the 50 steps that could be stated wholly lie inside with it, and 31 of the 39 of a fourth test, which
/// gave no number (docs/validation.md).
constexpr double script_spread_down = 0.08, script_spread_up = 0.16;
/// Identical runs of one recipe on several nodes: up to 5% apart.
constexpr double cluster_spread = 0.05 / 2.56;
/// What no program holds: reading data, logging, collecting garbage. It only adds, as much as steps of vtrain_single
/// take longer on average than they are predicted (scenarios/validation; the source is among those that were looked
/// at).
constexpr double left_out = 0.054;

/// Standard deviation of a normal distribution with that mean of |error|; of what was never held out, a guess.
double as_deviation(double mean) { return std::sqrt(std::numbers::pi / 2) * (mean > 0 ? mean : unknown_error); }

double held_out(const calibrate::Profile& profile, const std::string& suite) {
    const auto found = profile.held_out.find(suite);
    return as_deviation(found == profile.held_out.end() ? 0 : found->second.mean);
}

/// Of products in a format: those of its own table, else of the others, but for fp8's, which no other format takes.
double product_error(const calibrate::Profile& profile, kernels::Dtype compute) {
    const auto own = profile.held_out.find(fmt::format("gemm-{}", kernels::name(compute)));
    if (own != profile.held_out.end()) return as_deviation(own->second.mean);
    double worst = 0;
    for (const auto& [name, error] : profile.held_out)
        if (name.starts_with("gemm") && !name.starts_with("gemm-fp8")) worst = std::max(worst, error.mean);
    return as_deviation(worst);
}

/// Half of all values lie within this many standard deviations.
constexpr double middle_half = 0.6745;

}  // namespace

Interval step_interval(double step_time_s, std::span<const Breakdown> stages, const Doubt& doubt) {
    Breakdown mean;
    for (const Breakdown& stage : stages) mean.add(stage, 1.0 / static_cast<double>(stages.size()));
    const double collectives = mean.tensor_comm + mean.expert_comm + mean.data_comm + mean.pipeline_comm;
    const bool own_runtime = doubt.software == hardware::Software::orrery;
    const double network = doubt.several_nodes ? across_nodes / middle_half : held_out(doubt.profile, "collective");
    double variance = 0;
    const auto add = [&](double seconds, double error) { variance += std::pow(seconds / step_time_s * error, 2); };
    add(mean.gemm, product_error(doubt.profile, doubt.compute));
    add(mean.attention, held_out(doubt.profile, "attention"));
    add(mean.memory_bound + mean.optimizer, held_out(doubt.profile, "pointwise"));
    add(collectives, network);
    add(mean.launch, host_error);
    add(mean.offload, host_work_error);
    add(doubt.derived * step_time_s, derived_error);
    if (doubt.several_nodes) variance += std::pow(cluster_spread, 2);
    const auto width = [&](double spread) {
        return normal_quantile(0.9) * std::sqrt(variance + (own_runtime ? 0 : std::pow(spread, 2)));
    };
    return {step_time_s * std::exp(-width(doubt.by_scripts ? script_spread_down : software_spread)),
            step_time_s * std::exp(width(doubt.by_scripts ? script_spread_up : software_spread)) *
                (own_runtime ? 1 : 1 + left_out)};
}

}  // namespace orrery::sim
