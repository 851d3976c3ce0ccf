#include "planning/partition/balanced_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "planning/partition/chain.hpp"
#include "strategies/schedule/schedule.hpp"

namespace orrery::planning {

namespace {

using strategies::Plan;

/// Layers [first, first + count) of the body on virtual stage `at` of `stages`, with what stands at the ends.
class Stages {
public:
    Stages(const StageTables& tables, const strategies::Strategy& strategy)
        : tables_(tables),
          table_(tables.layers()),
          pipeline_(strategy.pipeline),
          stages_(strategy.pipeline * strategy.virtual_pipeline) {}
    [[nodiscard]] std::uint32_t layers() const { return table_.body_end() - table_.body_begin(); }
    [[nodiscard]] std::uint32_t count() const { return stages_; }
    /// Seconds of a layer of the body on a stage, the mean of all.
    [[nodiscard]] double each(std::uint32_t stage) const {
        const std::uint32_t begin = table_.body_begin(), end = table_.body_end();
        return tables_.seconds(stage, {begin, end, end}) / layers();
    }
    [[nodiscard]] double operator()(std::uint32_t at, std::uint32_t first, std::uint32_t count) const {
        const std::uint32_t begin = at == 0 ? 0 : table_.body_begin() + first;
        const std::uint32_t end = at + 1 == stages_ ? table_.nodes() : table_.body_begin() + first + count;
        return tables_.seconds(at % pipeline_, {begin, end, end});
    }
    /// The first chunk may hold the embedding alone, the last the loss.
    [[nodiscard]] std::uint32_t fewest(std::uint32_t at) const { return at == 0 || at + 1 == stages_ ? 0 : 1; }

private:
    const StageTables& tables_;
    const LayerTable& table_;
    std::uint32_t pipeline_, stages_;
};

/// The counts of stages whose slowest is fastest: best[at][end] is that of stages [0, at] over layers [0, end).
std::vector<std::uint32_t> divide(const Stages& of) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const std::uint32_t layers = of.layers(), stages = of.count();
    std::vector best(stages, std::vector<double>(layers + 1, infinity));
    std::vector counts(stages, std::vector<std::uint32_t>(layers + 1, 0));
    for (std::uint32_t at = 0; at < stages; ++at)
        for (std::uint32_t end = 0; end <= layers; ++end)
            for (std::uint32_t count = at == 0 ? end : of.fewest(at); count <= end; ++count) {
                const double before = at == 0 ? 0 : best[at - 1][end - count];
                const double slowest = std::max(before, of(at, end - count, count));
                if (slowest < best[at][end]) {
                    best[at][end] = slowest;
                    counts[at][end] = count;
                }
            }
    std::vector<std::uint32_t> result(stages);
    for (std::uint32_t at = stages, end = layers; at-- > 0; end -= result[at]) result[at] = counts[at][end];
    return result;
}

/// Of several chunks a stage.
std::vector<std::uint32_t> share_out(const Stages& of, std::uint32_t pipeline, std::uint32_t chunks) {
    const std::uint32_t layers = of.layers(), all = of.count();
    const double first = of(0, 0, 0), last = of(all - 1, layers, 0);
    std::vector<std::uint32_t> counts(all, 0);
    std::vector<double> busy(pipeline, 0), each;
    for (std::uint32_t stage = 0; stage < pipeline; ++stage) each.push_back(of.each(stage));
    busy.front() += first;
    busy.back() += last;
    std::uint32_t left = layers;
    const auto give = [&](std::uint32_t at) {
        ++counts[at];
        busy[at % pipeline] += each[at % pipeline];
        --left;
    };
    for (std::uint32_t at = 0; at < all; ++at)
        if (of.fewest(at) > 0) give(at);
    while (left > 0) {
        std::uint32_t stage = 0;
        for (std::uint32_t other = 1; other < pipeline; ++other)
            if (busy[other] + each[other] < busy[stage] + each[stage]) stage = other;
        std::uint32_t emptiest = stage;
        for (std::uint32_t chunk = 1; chunk < chunks; ++chunk)
            if (counts[chunk * pipeline + stage] < counts[emptiest]) emptiest = chunk * pipeline + stage;
        give(emptiest);
    }
    return counts;
}

void check(const Plan& plan, const Stages& of) {
    const strategies::Strategy& s = plan.strategy;
    if (s.pipeline == 1) throw Error("", "/strategy/pipeline", "there is one stage", "give more, 2 or 4");
    if (schedule_of(s.schedule).order != strategies::ChunkOrder::wraps)
        throw Error("", "/strategy/schedule", "chunks of one stage lie at both ends of the model",
                    "take a schedule whose chunks go round: 1f1b, interleaved or zb-h1");
    require_layers_alike(s);
    if (of.layers() + 2 < of.count())
        throw Error("", "/strategy/pipeline",
                    fmt::format("{} layers for {} chunks between the first and the last", of.layers(), of.count() - 2),
                    "give fewer stages, or fewer chunks");
}

}  // namespace

std::vector<double> stage_seconds(const Plan& plan, const StageTables& tables) {
    std::vector<double> all;
    for (std::uint32_t stage = 0; stage < plan.strategy.pipeline; ++stage) {
        all.push_back(0);
        for (std::uint32_t chunk = 0; chunk < plan.strategy.virtual_pipeline; ++chunk)
            all.back() += tables.seconds(stage, tables.layers().run(plan, stage, chunk));
    }
    return all;
}

std::vector<std::uint32_t> balanced_layers(const Plan& plan, const StageTables& tables) {
    const strategies::Strategy& s = plan.strategy;
    const Stages stages(tables, s);
    check(plan, stages);
    return s.virtual_pipeline == 1 ? divide(stages) : share_out(stages, s.pipeline, s.virtual_pipeline);
}

}  // namespace orrery::planning
