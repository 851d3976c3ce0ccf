#include "strategies/replica_batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <string_view>

#include "documents/message.hpp"
#include "strategies/refusal.hpp"
#include "strategies/sharding_rules.hpp"
#include "strategies/step_limits.hpp"

namespace orrery::strategies {

namespace {

constexpr const char* key = "/strategy/replica_micro_batches";

/// So many data ranks next to each other, and the micro-batches of each.
struct Run {
    std::uint32_t ranks = 1, micro_batches = 0;
};

/// A number at the beginning of the text, which it leaves; false where there is none.
bool take_number(std::string_view& text, std::uint32_t& value) {
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

bool take(std::string_view& text, char what) {
    if (!text.starts_with(what)) return false;
    text.remove_prefix(1);
    return true;
}

/// "2x3,1" as runs; none where it is no such list.
std::vector<Run> runs_of(std::string_view text) {
    std::vector<Run> runs;
    do {
        Run run;
        if (!take_number(text, run.micro_batches)) return {};
        if (take(text, 'x')) {
            run.ranks = run.micro_batches;
            if (run.ranks == 0 || !take_number(text, run.micro_batches)) return {};
        }
        runs.push_back(run);
    } while (take(text, ','));
    return text.empty() ? runs : std::vector<Run>{};
}

std::vector<Run> runs_of(const Plan& plan) { return runs_of(plan.strategy.replica_micro_batches); }

/// Of each data rank; of equal ones as well.
std::vector<std::uint32_t> list_of(const Plan& plan) {
    if (plan.strategy.replica_micro_batches.empty())
        return std::vector<std::uint32_t>(plan.strategy.data, plan.micro_batches());
    std::vector<std::uint32_t> list;
    for (const Run& run : runs_of(plan)) list.insert(list.end(), run.ranks, run.micro_batches);
    return list;
}

void check_sums(const Plan& plan, const std::vector<Run>& runs) {
    std::uint64_t ranks = 0, sum = 0;
    for (const Run& run : runs) {
        if (run.micro_batches == 0)
            refuse(key, "a data rank takes no micro-batch", "give each at least 1, or leave its GPUs out (data)",
                   Source::origin_of_key);
        ranks += run.ranks;
        sum += std::uint64_t{run.ranks} * run.micro_batches;
        constexpr std::uint64_t most = std::uint64_t{1} << 32U;
        if (ranks > most || sum > most)
            refuse(key, "numbers out of range", "write some for each data rank", Source::limit);
    }
    if (ranks != plan.strategy.data)
        refuse(key, fmt::format("{} numbers for {} data ranks", ranks, plan.strategy.data),
               fmt::format("write {} numbers", plan.strategy.data), Source::origin_of_key);
    const std::uint64_t batch = plan.training.global_batch, slice = plan.training.micro_batch;
    if (sum * slice != batch)
        refuse(key, fmt::format("{} micro-batches of {} are not the {} sequences of a step", sum, slice, batch),
               batch % slice == 0
                   ? fmt::format("make their sum {}, or global_batch_size {}", batch / slice, sum * slice)
                   : fmt::format("set global_batch_size to {}", sum * slice),
               Source::origin_of_key);
}

/// A step program has so many roles at most, and what they are written of stays in memory.
void check_roles(const Plan& plan, const ReplicaCounts& counts) {
    double passes = 0;
    for (const std::uint32_t each : counts.distinct) passes += layer_passes(plan.model, each);
    const std::size_t roles = counts.distinct.size() * plan.strategy.pipeline;
    if (roles > std::numeric_limits<std::uint16_t>::max() || passes > most_passes)
        refuse(key, fmt::format("{} different numbers make too many programs to simulate", counts.distinct.size()),
               "let more data ranks take equally many", Source::limit);
}

void check_demands(const Plan& plan, const ReplicaCounts& counts) {
    const Schedule& schedule = schedule_of(plan.strategy.schedule);
    for (const std::uint32_t each : counts.distinct) {
        const Demand demand = schedule.demand(with_own_micro_batches(plan, each).pipeline_shape());
        if (each % demand.micro_batches != 0)
            refuse(key,
                   fmt::format("{} micro-batches are not divisible by {}, as {} needs", each, demand.micro_batches,
                               schedule.name),
                   nearest_multiples(each, demand.micro_batches), source_of(schedule.kind));
        if (each < demand.least)
            refuse(key,
                   fmt::format("{} micro-batches, fewer than the {} that {} needs", each, demand.least, schedule.name),
                   fmt::format("at least {}", demand.least), source_of(schedule.kind));
    }
}

/// Of the plan's keys, what is said and what goes with unequal numbers.
[[noreturn]] void refuse_beside(std::string_view pointer, const std::string& what, const char* remedy) {
    refuse(pointer, what + ", but replica_micro_batches gives data ranks unequal numbers", remedy,
           Source::not_modelled);
}

}  // namespace

std::uint32_t Plan::most_micro_batches() const {
    std::uint32_t most = 1;
    for (const Run& run : runs_of(*this)) most = std::max(most, run.micro_batches);
    return most;
}

std::string replica_text(const std::vector<std::uint32_t>& list) {
    std::string text;
    for (std::size_t first = 0, end = 0; first < list.size(); first = end) {
        while (end < list.size() && list[end] == list[first]) ++end;
        text += fmt::format("{}{}x{}", text.empty() ? "" : ",", end - first, list[first]);
    }
    return text;
}

ReplicaCounts replica_counts(const Plan& plan) {
    if (plan.strategy.replica_micro_batches.empty())
        return {{plan.micro_batches()}, std::vector<std::uint32_t>(plan.strategy.data)};
    ReplicaCounts counts;
    std::map<std::uint32_t, std::uint32_t> known;
    for (const std::uint32_t each : list_of(plan)) {
        const auto [place, is_new] = known.emplace(each, known.size());
        if (is_new) counts.distinct.push_back(each);
        counts.which.push_back(place->second);
    }
    return counts;
}

bool unequal_replicas(const Plan& plan) {
    const std::vector<Run> runs = runs_of(plan);
    return std::ranges::any_of(runs, [&](const Run& run) { return run.micro_batches != runs.front().micro_batches; });
}

Plan with_own_micro_batches(const Plan& plan, std::uint32_t micro_batches) {
    Plan own = plan;
    own.own_micro_batches = micro_batches;
    return own;
}

Plan replicas(const Plan& plan, std::uint32_t first, std::uint32_t data) {
    Plan fewer = plan;
    fewer.strategy.data = data;
    fewer.placement = {};
    fewer.training.global_batch = plan.training.global_batch / plan.strategy.data * data;
    if (!unequal_replicas(plan)) {
        fewer.strategy.replica_micro_batches.clear();
        return fewer;
    }
    const std::vector<std::uint32_t> all = list_of(plan);
    const auto begin = all.begin() + first;
    const std::vector<std::uint32_t> list(begin, begin + data);
    fewer.strategy.replica_micro_batches = replica_text(list);
    fewer.training.global_batch = 0;
    for (const std::uint32_t each : list) fewer.training.global_batch += each * plan.training.micro_batch;
    return fewer;
}

Plan replica_alone(const Plan& plan, std::uint32_t block) {
    const std::uint32_t least = plan.expert_extent();
    Plan alone = replicas(plan, block * least, least);
    alone.strategy.optimizer_instances = 1;
    return alone;
}

double mean_share(const Plan& plan) { return double{1} * plan.training.global_batch / plan.strategy.data; }

void check_replica_counts(const Plan& plan) {
    if (plan.strategy.replica_micro_batches.empty()) return;
    const std::vector<Run> runs = runs_of(plan);
    if (runs.empty())
        refuse(key,
               fmt::format("\"{}\" is no list of numbers", documents::printable(plan.strategy.replica_micro_batches)),
               "write them as in \"3,3,1,1\" or \"2x3,2x1\"", Source::origin_of_key);
    check_sums(plan, runs);
}

void check_unequal_replicas(const Plan& plan) {
    if (!unequal_replicas(plan)) return;
    const Strategy& strategy = plan.strategy;
    const ReplicaCounts counts = replica_counts(plan);
    const Schedule& schedule = schedule_of(strategy.schedule);
    if (schedule.asynchronous)
        refuse_beside("/strategy/schedule", fmt::format("{} goes on from step to step", schedule.name),
                      "set it to \"1f1b\"");
    if (strategy.sharding == Sharding::zero3)
        refuse_beside("/strategy/sharding", "zero3 gathers weights in each micro-batch",
                      "set it to \"zero1\" or \"none\"");
    if (strategy.syncs_each_micro_batch())
        refuse_beside(key_of_syncs(strategy),
                      fmt::format("{} reduces gradients behind every backward", said_of_syncs(strategy)),
                      "set sharding to \"zero1\" or \"none\", and gradient_sync to \"by_sharding\"");
    if (plan.expert_extent() > 1)
        refuse_beside(strategy.split_classes > 1 ? "/strategy/split_classes" : "/strategy/expert",
                      fmt::format("{} data ranks exchange in every micro-batch", plan.expert_extent()), "set it to 1");
    if (plan.compresses())
        refuse_beside("/strategy/compression", "each rank's momentum takes the mean of its own gradients",
                      "set it to \"none\"");
    if (plan.training.broadcast_data)
        refuse_beside("/training/broadcast_data", "true: the loss is averaged over data ranks in each micro-batch",
                      "set it to false");
    check_demands(plan, counts);
    check_roles(plan, counts);
}

}  // namespace orrery::strategies
