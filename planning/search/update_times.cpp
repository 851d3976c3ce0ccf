#include "planning/search/update_times.hpp"

#include <algorithm>

#include "strategies/gradient_buckets.hpp"
#include "strategies/gradient_wire.hpp"
#include "strategies/intern.hpp"
#include "strategies/optimizer_phase.hpp"
#include "strategies/ownership.hpp"
#include "strategies/stage_split.hpp"
#include "strategies/state_bytes.hpp"

namespace orrery::planning {

namespace {

using strategies::Axis;
using strategies::GradientBucket;
using strategies::GradientBuckets;
using strategies::Lane;
using strategies::LayerBlocks;
using strategies::Move;
using strategies::Ownership;
using strategies::ParameterClass;
using strategies::Plan;

/// A stage as the writers of programs know it, without its blocks' programs.
struct BareStage {
    std::vector<LayerBlocks> blocks;
    strategies::Stage stage;

    BareStage(const Plan& plan, const LayerTable& layers, std::uint32_t index) {
        stage.index = index;
        std::vector<Run> runs;
        for (std::uint32_t c = 0; c < plan.strategy.virtual_pipeline; ++c) runs.push_back(layers.run(plan, index, c));
        std::size_t count = 0;
        for (const Run& run : runs) count += run.last - run.first;
        blocks.reserve(count);  // stages point into it
        for (const Run& run : runs) {
            auto& chunk = stage.chunks.emplace_back();
            for (std::uint32_t node = run.first; node < run.last; ++node) {
                const Run one = layers.single(node);
                LayerBlocks& block = blocks.emplace_back();
                block.counts.trained = layers.parameters(one);
                block.counts.replicated = layers.replicated_parameters(one);
                block.counts.experts = layers.expert_parameters(one);
                block.narrow = {{.rows = layers.narrow(one, false), .cols = 1},
                                {.rows = layers.narrow(one, true), .cols = 1, .experts = true}};
                block.backward = 0;  // some block's: a search refuses what is frozen
                stage.counts.trained += block.counts.trained;
                stage.counts.replicated += block.counts.replicated;
                stage.counts.experts += block.counts.experts;
                chunk.push_back({&block, static_cast<std::int32_t>(node)});
            }
        }
    }
};

/// Seconds of what one stage does with its parameters.
class Work {
public:
    Work(const Plan& plan, const LayerTable& layers, std::uint32_t index, Prices& prices)
        : plan_(plan),
          prices_(prices),
          index_(index),
          bare_(plan, layers, index),
          mesh_(plan.mesh()),
          dense_(ownership(plan, ParameterClass::dense)),
          experts_(ownership(plan, ParameterClass::expert)),
          buckets_(gradient_buckets(bare_.stage, plan)) {
        step_.mesh = mesh_;
    }

    UpdateTimes times() {
        UpdateTimes times;
        times.before = std::max(zeroing(), first_gather());
        times.update = norms() + optimizer();
        times.behind = behind() + times.update;
        const double sums = scatters();
        times.per_pass = gathers() + sums;
        if (!plan_.strategy.overlap_grad_reduce) {
            times.waited = sums;
            for (std::uint32_t b = completed_last(); b < buckets_.buckets.size(); ++b)
                if (buckets_.buckets[b].chunk == 0) times.last += scatter(buckets_.buckets[b]);
        }
        least_ = true;
        times.slowing = prices_.kinds().size() > 1 ? 0 : gathers() + scatters();
        return times;
    }

private:
    [[nodiscard]] const Ownership& owners(bool experts) const { return experts ? experts_ : dense_; }
    [[nodiscard]] std::uint64_t gradient_bytes(std::uint64_t parameters) const {
        return parameters * strategies::state_bytes(plan_.training).gradient;
    }
    /// On the data lane.
    [[nodiscard]] double moved(const std::vector<Move>& moves, std::uint64_t bytes) const {
        double seconds = 0;
        for (const Move& move : moves) {
            if (strategies::lane_of(plan_, move) != Lane::data) continue;
            const strategies::Collective made = strategies::collective_of(plan_, move, bytes);
            const auto of = [&](std::uint32_t stage) {
                return prices_.collective(stage, made.on_links(), made.group, made.bytes);
            };
            seconds += least_ ? std::min(of(index_), of(0)) : of(index_);
        }
        return seconds;
    }
    [[nodiscard]] double scatters() const {
        double seconds = 0;
        for (const GradientBucket& bucket : buckets_.buckets) seconds += scatter(bucket);
        return seconds;
    }
    [[nodiscard]] double scatter(const GradientBucket& bucket) const {
        const Ownership& of = owners(bucket.experts);
        return moved(strategies::moves(mesh_, of.formed, of.gradients, of.replicas),
                     strategies::bytes_on_the_wire(plan_, bucket.parameters));
    }
    [[nodiscard]] double reduce(const GradientBucket& bucket) const {
        const Ownership& of = owners(bucket.experts);
        return moved(strategies::moves(mesh_, of.gradients, of.states, of.replicas),
                     strategies::bytes_on_the_wire(plan_, bucket.parameters));
    }

    /// Seconds of kernels, one behind the other.
    [[nodiscard]] double kernels(const std::vector<strategies::Compute>& list) {
        strategies::Builder builder("kernels");
        for (const strategies::Compute& kernel : list)
            builder.emit(Lane::compute, {}, strategies::What{kernel}, std::span<const strategies::BufferId>{},
                         std::span<const strategies::BufferId>{});
        step_.programs = {std::move(builder).finish()};
        Plan placed = plan_;
        placed.placement = prices_.placement();
        double seconds = 0;
        for (const sim::OpCost& cost : prices_.of(step_, placed)) seconds += cost.device;
        return seconds;
    }

    [[nodiscard]] double zeroing() {
        if (plan_.gradients_come_and_go()) return 0;
        std::uint64_t kept = 0;
        for (const GradientBucket& bucket : buckets_.buckets) {
            const Ownership& of = owners(bucket.experts);
            kept += strategies::share(mesh_, of, of.gradients, bucket.parameters);
        }
        strategies::Intern intern(step_);
        return kernels({intern.kernel(
            kernels::Pointwise{kernels::PointwiseKind::fill, plan_.training.precision.grad_reduce, 1, kept})});
    }

    /// What the first call waits for: the first bucket that is gathered beside the forward, or its own layer.
    [[nodiscard]] double first_gather() const {
        if (plan_.strategy.overlap_param_gather) {
            const GradientBucket& first = buckets_.buckets.back();
            const Ownership& of = owners(first.experts);
            return moved(strategies::moves(mesh_, of.states, of.weights, of.replicas),
                         strategies::moved_weight_bytes(plan_, first.weights()));
        }
        return gather(*bare_.stage.chunks.front().front().blocks);
    }
    [[nodiscard]] double gather(const LayerBlocks& layer) const {
        double seconds = 0;
        for (const bool experts : {false, true}) {
            const std::uint64_t parameters = layer.counts.trained_of(experts);
            const Ownership& of = owners(experts);
            if (parameters > 0)
                seconds += moved(strategies::moves(mesh_, of.weights, of.used, of.replicas),
                                 strategies::moved_weight_bytes(plan_, {parameters, layer.narrow_of(experts, true)}));
        }
        return seconds;
    }
    /// Of all layers, once for the forward and once for the backward; but for the embedding's where logits read it too,
    /// which may stay for all passes of a step (strategies/weight_gathers.hpp).
    [[nodiscard]] double gathers() const {
        double seconds = 0;
        for (const LayerBlocks& layer : bare_.blocks) seconds += 2 * gather(layer);
        const bool lends = plan_.model.tied_embeddings && ends_meet(plan_);
        return lends ? seconds - 2 * gather(*bare_.stage.chunks.front().front().blocks) : seconds;
    }

    /// The first of the buckets that the last backward completes.
    [[nodiscard]] std::uint32_t completed_last() const {
        std::uint32_t first = GradientBuckets::none;
        buckets_.each(0, 0, [&](std::uint32_t bucket) { first = std::min(first, bucket); });
        return first;
    }

    /// Of the data lane, when the last backward has ended: the bucket that it completes, and without overlap what the
    /// lane carries behind that one.
    [[nodiscard]] double behind() const {
        double seconds = 0;
        if (plan_.strategy.overlap_grad_reduce) {
            buckets_.each(0, 0, [&](std::uint32_t bucket) {
                seconds += scatter(buckets_.buckets[bucket]) + reduce(buckets_.buckets[bucket]);
            });
            return seconds;
        }
        for (std::uint32_t b = completed_last(); b < buckets_.buckets.size(); ++b) {
            const GradientBucket& bucket = buckets_.buckets[b];
            seconds += reduce(bucket) + (bucket.chunk == 0 ? scatter(bucket) : 0);
        }
        return seconds;
    }

    /// Gradients that every tensor rank has of other tokens.
    [[nodiscard]] double norms() const {
        const Ownership of = ownership(plan_, ParameterClass::norm);
        return moved(strategies::moves(mesh_, of.gradients, of.states, {Axis::tensor}),
                     gradient_bytes(bare_.stage.counts.replicated));
    }

    [[nodiscard]] double optimizer() {
        strategies::Intern intern(step_);
        strategies::Builder builder("optimizer");
        emit_optimizer(plan_, bare_.stage, builder, intern, {});
        const strategies::Program program = std::move(builder).finish();
        std::vector<strategies::Compute> list;
        double seconds = 0;
        for (const strategies::Op& op : program.ops) {
            if (const auto* kernel = std::get_if<strategies::Compute>(&op.what)) list.push_back(*kernel);
            if (const auto* move = std::get_if<strategies::Collective>(&op.what))
                seconds += prices_.collective(index_, move->kind, move->group, move->bytes);
        }
        return seconds + kernels(list);
    }

    const Plan& plan_;
    Prices& prices_;
    std::uint32_t index_;
    BareStage bare_;
    strategies::Mesh mesh_;
    Ownership dense_, experts_;
    GradientBuckets buckets_;
    strategies::StepProgram step_;
    bool least_ = false;  // collectives in the quicker of the stage's own group and the first one's
};

}  // namespace

const UpdateTimes& UpdateTable::of(const Plan& plan, const LayerTable& layers, std::uint32_t stage) {
    const strategies::Strategy& s = plan.strategy;
    const auto shape = static_cast<std::uint8_t>((s.sequence_parallel ? 1U : 0U) | (s.placement.empty() ? 0U : 2U) |
                                                 (stage > 0 ? 4U : 0U) | (s.embedding_as_layer ? 8U : 0U) |
                                                 (s.loss_as_layer ? 16U : 0U));
    const auto overlap = static_cast<std::uint8_t>(
        (s.overlap_grad_reduce ? 1U : 0U) | (s.overlap_param_gather ? 2U : 0U) | (s.optimizer_cpu_offload ? 4U : 0U));
    const Key key{s.tensor,
                  s.context,
                  s.optimizer_instances,
                  s.pipeline,
                  s.virtual_pipeline,
                  s.data,
                  s.expert,
                  s.expert_tensor,
                  static_cast<std::uint32_t>(s.sharding),
                  shape,
                  overlap};
    const auto found = known_.find(key);
    return found != known_.end() ? found->second : known_.emplace(key, work_out(plan, layers, stage)).first->second;
}

UpdateTimes UpdateTable::work_out(const Plan& plan, const LayerTable& layers, std::uint32_t stage) {
    return Work(plan, layers, stage, prices_).times();
}

}  // namespace orrery::planning
