#include "planning/search/bounds.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "strategies/optimizer_offload.hpp"
#include "strategies/ownership.hpp"
#include "strategies/partition/tensor.hpp"
#include "strategies/state_bytes.hpp"

namespace orrery::planning {

namespace {

using strategies::Axis;
using strategies::Ownership;
using strategies::ParameterClass;
using strategies::Plan;
using strategies::Schedule;
using strategies::ScheduleKind;

/// Seconds of one stage's slots and messages, the terms that all bounds are made of.
class Terms {
public:
    Terms(const Plan& plan, const ReplicaPath& path, Prices& prices)
        : plan_(plan),
          path_(path),
          prices_(prices),
          schedule_(schedule_of(plan.strategy.schedule)),
          stages_(plan.strategy.pipeline),
          chunks_(plan.strategy.virtual_pipeline),
          passes_(plan.micro_batches()) {
        const std::uint64_t whole = plan.rank_tokens() * plan.model.hidden * kernels::size_of(activation_dtype(plan));
        const strategies::Strategy& s = plan.strategy;
        const bool split = s.tensor > 1 && (s.sequence_parallel || s.scatter_gather);
        wire_bytes_ = split ? whole / s.tensor : whole;
        gathered_bytes_ = s.sequence_parallel || !split ? 0 : whole;
    }

    [[nodiscard]] double forward(std::uint32_t stage, std::uint32_t chunk) const {
        return layers(stage).forward(run(stage, chunk)).device + gather(stage, chunk, false);
    }
    /// Of the whole or, where it is split, of the inputs.
    [[nodiscard]] double backward(std::uint32_t stage, std::uint32_t chunk) const {
        return layers(stage).backward(run(stage, chunk)).device + gather(stage, chunk, true);
    }
    /// Of one micro-batch: what arrived in parts is put together before a slot.
    [[nodiscard]] double gathers(std::uint32_t stage) const {
        double seconds = 0;
        for (std::uint32_t c = 0; c < chunks_; ++c) seconds += gather(stage, c, false) + gather(stage, c, true);
        return seconds;
    }
    [[nodiscard]] double weights(std::uint32_t stage, std::uint32_t chunk) const {
        return layers(stage).weight_gradient(run(stage, chunk)).device;
    }
    /// All calls of one micro-batch.
    [[nodiscard]] CallSums calls(std::uint32_t stage) const {
        CallSums sums;
        for (std::uint32_t c = 0; c < chunks_; ++c) sums += layers(stage).pass(run(stage, c));
        return sums;
    }
    /// Of activations to the next stage, of gradients to the one before.
    [[nodiscard]] double ahead(std::uint32_t stage) const {
        return stages_ == 1 || !path_.first ? 0 : prices_.message(stage, false, wire_bytes_);
    }
    [[nodiscard]] double back(std::uint32_t stage) const {
        return stages_ == 1 || !path_.first ? 0 : prices_.message((stage + stages_ - 1) % stages_, true, wire_bytes_);
    }

    /// Whether the host waits for messages between slots.
    [[nodiscard]] bool stops() const { return stages_ > 1 && !plan_.strategy.overlap_p2p && !schedule_.overlaps_p2p; }
    /// Forwards of a stage before its first backward, but one.
    [[nodiscard]] std::uint64_t warm_up(std::uint32_t stage) const {
        const std::uint64_t all = std::uint64_t{passes_} * chunks_;
        if (schedule_.kind == ScheduleKind::gpipe) return all - 1;
        if (chunks_ == 1) return std::min<std::uint64_t>(stages_ - 1 - stage, all - 1);
        return std::min<std::uint64_t>((stages_ - stage - 1) * 2 + (chunks_ - 1) * stages_, all);
    }

    /// Messages that stand between a stage's slots; last: the one behind its last backward too.
    [[nodiscard]] double waits(std::uint32_t stage, bool last) const {
        if (!stops()) return 0;
        const bool sends_back = stage > 0, end = stage + 1 == stages_;
        const double skipped = sends_back && !last ? back(stage) : 0;
        if (chunks_ == 1) return passes_ * ((end ? 0 : ahead(stage)) + (sends_back ? back(stage) : 0)) - skipped;
        const std::uint64_t all = std::uint64_t{passes_} * chunks_, alone = warm_up(stage);
        const std::uint64_t silent = end && alone == all ? passes_ : 0;
        const std::uint64_t pairs = all - alone;  // of a forward, whose message a backward hides, and that backward
        const std::uint64_t first = sends_back ? 0 : std::min<std::uint64_t>(pairs, passes_);  // sent no further
        double seconds = static_cast<double>(pairs - first) * std::min(ahead(stage), back(stage));
        seconds += static_cast<double>(alone - silent) * ahead(stage);
        if (sends_back) seconds += static_cast<double>(alone) * back(stage) - skipped;
        return seconds;
    }

    /// Compute lane of one micro-batch.
    [[nodiscard]] double pass(std::uint32_t stage) const {
        double seconds = 0;
        for (std::uint32_t c = 0; c < chunks_; ++c)
            seconds += forward(stage, c) + backward(stage, c) + weights(stage, c);
        return seconds;
    }
    /// Of a stage's weight gradients, those that come behind its last backward: ZB-H1 puts off one a stage.
    [[nodiscard]] double put_off(std::uint32_t stage) const {
        return schedule_.splits_backward() ? std::min(stage + 1, passes_) * weights(stage, 0) : 0;
    }
    [[nodiscard]] Run run(std::uint32_t stage, std::uint32_t chunk) const {
        return layers(stage).run(plan_, stage, chunk);
    }

private:
    [[nodiscard]] const LayerTable& layers(std::uint32_t stage) const { return *path_.layers[stage]; }
    [[nodiscard]] double gather(std::uint32_t stage, std::uint32_t chunk, bool back) const {
        const bool end = back ? stage + 1 == stages_ && chunk + 1 == chunks_ : stage == 0 && chunk == 0;
        return gathered_bytes_ == 0 || end || !path_.first
                   ? 0
                   : prices_.collective(stage == 0 ? 0 : stages_ - 1, kernels::CollectiveKind::all_gather,
                                        {Axis::tensor}, gathered_bytes_);
    }

    const Plan& plan_;
    const ReplicaPath& path_;
    Prices& prices_;
    const Schedule& schedule_;
    std::uint32_t stages_, chunks_, passes_;
    std::uint64_t wire_bytes_ = 0, gathered_bytes_ = 0;
};

}  // namespace

std::shared_ptr<const LayerTable> LayerTables::find(const Plan& plan, const Prices& prices,
                                                    std::optional<std::uint32_t> kind) {
    const std::pair key(LayerTable::key(plan), kind);
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = known_.find(key); found != known_.end()) return found->second;
    }
    auto fresh = std::make_shared<const LayerTable>(plan, prices, kind, OnOtherKinds::nothing);
    const std::lock_guard lock(mutex_);
    return known_.try_emplace(key, std::move(fresh)).first->second;
}

/// Works out anew what has changed since the plan before.
void Bounds::shape(const Plan& plan) {
    const strategies::Strategy& s = plan.strategy;
    const std::array<std::uint32_t, 14> key{s.tensor,
                                            s.context,
                                            static_cast<std::uint32_t>(s.context_exchange),
                                            s.ulysses_degree,
                                            s.pipeline,
                                            s.data,
                                            s.expert,
                                            s.expert_tensor,
                                            plan.training.micro_batch,
                                            static_cast<std::uint32_t>(s.schedule),
                                            s.virtual_pipeline,
                                            again_key(s),
                                            s.recompute_num_layers,
                                            (s.sequence_parallel ? 1U : 0U) | (s.async_tensor_allreduce ? 2U : 0U) |
                                                (s.scatter_gather ? 4U : 0U) | (s.overlap_p2p ? 8U : 0U) |
                                                (s.placement.empty() ? 0U : 16U) | (s.embedding_as_layer ? 32U : 0U) |
                                                (s.loss_as_layer ? 64U : 0U) | (s.tensor_comm_overlap ? 128U : 0U)};
    if (key == shape_.key) return;
    shape_.key = {};  // of no plan, should this one have no bound
    prices_.place(plan);
    shape_.layers = tables_.find(plan, prices_);
    shape_.through = shape_.host = 0;
    shape_.copies.clear();
    shape_.first = stage(plan, 0);
    if (s.pipeline > 1) shape_.last = stage(plan, s.pipeline - 1);
    for (const ReplicaPath& path : paths(plan)) walk(plan, path);
    shape_.key = key;
}

/// Of ranks of several kinds in one stage of a replica the quickest counts.
std::vector<ReplicaPath> Bounds::paths(const Plan& plan) {
    const std::uint32_t stages = plan.strategy.pipeline;
    if (prices_.kinds().size() == 1) return {{.layers = {stages, shape_.layers}}};
    std::vector<std::vector<std::optional<std::uint32_t>>> kinds;  // by replica and stage
    for (std::uint32_t s = 0; s < stages; ++s) {
        const std::vector<std::vector<std::uint32_t>> of_replicas = prices_.kinds_by_data(s);
        kinds.resize(of_replicas.size());
        for (std::size_t replica = 0; replica < kinds.size(); ++replica)
            kinds[replica].push_back(of_replicas[replica].size() == 1 ? std::optional(of_replicas[replica].front())
                                                                      : std::nullopt);
    }
    std::vector<ReplicaPath> list;
    std::set<std::vector<std::optional<std::uint32_t>>> known;
    for (const auto& of_replica : kinds) {
        if (!known.insert(of_replica).second) continue;
        ReplicaPath path{.layers = {}, .first = list.empty()};
        for (const auto& kind : of_replica)
            path.layers.push_back(kind ? tables_.find(plan, prices_, kind) : shape_.layers);
        list.push_back(std::move(path));
    }
    return list;
}

void Bounds::walk(const Plan& plan, const ReplicaPath& path) {
    const std::uint32_t stages = plan.strategy.pipeline, passes = plan.micro_batches();
    const Terms terms(plan, path, prices_);
    double fill = 0, drain = 0;  // the way to a stage, and back from it
    for (std::uint32_t s = 0; s < stages; ++s) {
        const double work = passes * terms.pass(s);
        const CallSums calls = terms.calls(s);
        const double last_backward = fill + work - terms.put_off(s) + terms.waits(s, false);
        shape_.through = std::max(shape_.through, last_backward + drain + terms.put_off(0));
        shape_.host = std::max(shape_.host, calls.host * passes);
        if (s == 0 || s + 1 == stages) {
            Stage& edge = s == 0 ? shape_.first : shape_.last;
            const double waits = terms.waits(s, true);
            edge.between = std::max(edge.between, waits + passes * terms.gathers(s));
            edge.kernels = std::max(edge.kernels, passes * calls.kernels);
            edge.behind_fill = std::max(edge.behind_fill, fill + work + waits);
            double first_pass = fill;
            for (std::uint32_t c = 0; c < edge.chunks.size(); ++c)
                first_pass += static_cast<double>(edge.alive[c]) * terms.forward(s, c);
            edge.first_pass = std::max(edge.first_pass, first_pass);
        }
        fill += terms.forward(s, 0) + terms.ahead(s);
        drain += terms.backward(s, 0) + (s + 1 < stages ? terms.back(s + 1) : 0);
    }
}

Bounds::Stage Bounds::stage(const Plan& plan, std::uint32_t index) {
    const std::uint32_t stages = plan.strategy.pipeline, chunks = plan.strategy.virtual_pipeline;
    const ReplicaPath quickest{.layers = {stages, shape_.layers}};
    const Terms terms(plan, quickest, prices_);
    Stage result;
    result.index = index;
    for (std::uint32_t c = 0; c < chunks; ++c) {
        result.chunks.push_back(terms.run(index, c));
        result.parameters += shape_.layers->parameters(result.chunks.back());
        result.experts += shape_.layers->expert_parameters(result.chunks.back());
    }
    result.alive.assign(chunks, 0);
    const std::uint64_t all = std::uint64_t{plan.micro_batches()} * chunks;
    const std::uint64_t kept = std::min(terms.warm_up(index) + 1, all);
    result.turns = all - kept;
    const std::uint64_t round = std::uint64_t{stages} * chunks;
    for (std::uint32_t c = 0; c < chunks; ++c) {  // the k-th forward is of chunk (k mod round) / stages
        const std::uint64_t within = kept % round, before = std::uint64_t{c} * stages;
        result.alive[c] = chunks == 1 ? kept
                                      : kept / round * stages +
                                            std::min<std::uint64_t>(within > before ? within - before : 0, stages);
    }
    const Run& last = result.chunks.back();
    result.working = shape_.layers->working(last);
    const Run layer = shape_.layers->single(last.last - 1);
    result.last_parameters = shape_.layers->parameters(layer);
    result.last_experts = shape_.layers->expert_parameters(layer);
    return result;
}

/// When the first backward begins: the stage's states, what it keeps of all micro-batches so far, and what that call
/// needs.
std::uint64_t Bounds::bytes(const Plan& plan, const Stage& of) const {
    const strategies::StateBytes state = strategies::state_bytes(plan.training);
    const strategies::Mesh mesh = plan.mesh();
    const std::uint32_t offloaded = plan.strategy.cpu_offloading_num_layers;
    std::uint64_t sum = of.working;
    for (std::size_t c = 0; c < of.chunks.size(); ++c) {
        const std::uint64_t saved = shape_.layers->saved(of.chunks[c]);
        sum += of.alive[c] * (saved - (offloaded > 0 ? shape_.layers->saved_of_first(of.chunks[c], offloaded) : 0));
    }
    for (const bool experts : {false, true}) {
        const std::uint64_t parameters = experts ? of.experts : of.parameters - of.experts;
        if (parameters == 0) continue;
        const Ownership owns = ownership(plan, strategies::class_of_bucket(experts));
        const bool sharded = mesh.group_size(owns.weights.split(owns.replicas)) > 1;
        const strategies::WeightCount narrow{parameters, parameters}, wide{parameters, 0};  // one of them is the least
        const auto least = [&](const auto& bytes) { return std::min(bytes(plan, narrow), bytes(plan, wide)); };
        sum += share(mesh, owns, owns.weights,
                     sharded ? least(strategies::moved_weight_bytes) : least(strategies::kept_weight_bytes));
        const std::uint64_t states = share(mesh, owns, owns.states, parameters * state.optimizer);
        const std::uint64_t there = strategies::offloaded(plan, states);
        sum += there == 0 ? states : states - there - std::min<std::uint64_t>(states - there, 1);  // rounded once
        const std::uint64_t gradients =
            plan.gradients_come_and_go() ? 0 : share(mesh, owns, owns.gradients, parameters * state.gradient);
        const std::uint64_t rounding = of.chunks.back().last + 1;  // a byte for each bucket: not more than layers
        sum += gradients - std::min(gradients, rounding);
        const std::uint64_t last = experts ? of.last_experts : of.last_parameters - of.last_experts;
        if (sharded) sum += strategies::moved_weight_bytes(plan, {last, last});
        if (mesh.group_size(owns.gradients.split(owns.replicas)) > 1) sum += last * state.gradient;
    }
    return sum;
}

/// As Offload writes them, a forward runs its first layer, and the copies have ended one behind the other when the call
/// behind its body begins, the last one later where every layer is copied; a backward begins all copies back behind its
/// last layer, but one, or two where every layer is copied, and ends with its first. Where every layer is copied and a
/// forward and a backward take turns, all copies back begin behind the forward's last layer but one.
const Bounds::Copies& Bounds::copies(const Plan& plan, const Stage& of) {
    const bool in_part = !plan.strategy.offload_names.empty();  // how much is copied then is not in the table
    const std::uint32_t offloaded = in_part ? 0 : plan.strategy.cpu_offloading_num_layers;
    const auto [place, fresh] = shape_.copies.try_emplace(offloaded);
    if (!fresh) return place->second;
    const LayerTable& layers = *shape_.layers;
    Copies sums;
    double turn = std::numeric_limits<double>::infinity();  // of a forward and a backward
    double last = 0;  // copies that are waited for in the backward alone, where one's own follows at once
    for (const Run& run : of.chunks) {
        const Run body = layers.body_of(run);
        const std::uint32_t size = body.last - body.first, all = offloaded == size ? 1 : 0;
        double out = layers.forward(LayerTable::single_of(body, 0)).device, back = 0;
        if (size > 1)
            back = layers.backward(LayerTable::single_of(body, 0)).device +
                   layers.backward(LayerTable::single_of(body, size - 1)).device;
        double one_way = 0;
        for (std::uint32_t layer = 0; layer < offloaded; ++layer) {
            const double copy = prices_.copy(plan, layers.saved_of(run, layer));
            one_way += copy;
            if (layer + all < offloaded) out += copy;
            if (layer + 1 == offloaded) last += copy;
            if (layer + 1 + all < offloaded) back += copy;
        }
        sums.waited +=
            std::max(0.0, out - layers.forward(body).device) + std::max(0.0, back - layers.backward(body).device);
        sums.one_way += one_way;
        const Run but_last{body.first, body.last - 1, std::min(body.again_until, body.last - 1)};
        turn = std::min(
            turn, layers.forward(but_last).device + one_way + layers.backward(LayerTable::single_of(body, 0)).device);
        if (all == 0) turn = 0;
    }
    sums.waited *= plan.micro_batches();
    if (plan.strategy.pipeline > 1) sums.waited = std::max(0.0, sums.waited - last);
    sums.one_way = std::max(sums.one_way * plan.micro_batches(), static_cast<double>(of.turns) * turn);
    return place->second = sums;
}

/// Where schedules have no closed forms of their ends here: the slowest stage's layers.
Bound Bounds::of_layers(const Plan& plan) const {
    Bound bound;
    const strategies::PipelineShape shape = plan.pipeline_shape();
    for (std::uint32_t s = 0; s < plan.strategy.pipeline; ++s) {
        double pass = 0;
        for (std::uint32_t c = 0; c < shape.chunks; ++c) {
            const Run run = shape_.layers->run(plan, s, c);
            pass += shape_.layers->forward(run).device + shape_.layers->backward(run).device +
                    shape_.layers->weight_gradient(run).device;
        }
        bound.seconds = std::max(bound.seconds, plan.micro_batches() * pass / shape.copies());
    }
    return bound;
}

/// Until the stage's update has ended. What a call waits for stops the compute lane; the data lane's other seconds lie
/// behind the last backward, where the compute lane runs no kernel, or beside a kernel, which is slowed meanwhile and
/// hides the more of them for it: a kernel of one second takes 1 + lost, and these are as many of the data lane's.
double Bounds::end(const Plan& plan, const Stage& of, const UpdateTimes& times, double before, double copied) const {
    const double passes = plan.micro_batches(), behind = times.behind - times.update;
    // Gradients of weights do not wait. What hides a wait is known on one kind of GPU.
    const bool none = schedule_of(plan.strategy.schedule).splits_backward() || prices_.kinds().size() > 1;
    const double waited = none ? 0 : std::max(copied, passes * times.waited - times.last);
    const double last_backward = before + of.behind_fill + std::max(0.0, waited - of.between);
    const double beside = passes * times.slowing - behind - (last_backward - of.kernels);
    const double slowed = std::max(0.0, beside) * lost_ / (1 + lost_);
    return last_backward + slowed + times.behind;
}

Bound Bounds::of(const Plan& plan) {
    shape(plan);
    const Schedule& schedule = schedule_of(plan.strategy.schedule);
    if (schedule.asynchronous || schedule.order != strategies::ChunkOrder::wraps) return of_layers(plan);
    const bool piped = plan.strategy.pipeline > 1;
    const UpdateTimes first = updates_.of(plan, *shape_.layers, 0);
    const double passes = plan.micro_batches();
    const bool gathers = row_of(plan.strategy.sharding).kept.weights != strategies::Placement::replicated;
    const auto lane = [&](const Stage& of, const UpdateTimes& times) {
        return (gathers ? 0 : of.first_pass) + passes * times.per_pass + times.update;
    };
    const Copies copied = plan.strategy.cpu_offloading_num_layers > 0 ? copies(plan, shape_.first) : Copies{};
    Bound bound;
    bound.seconds = std::max({first.before + shape_.through + first.behind, shape_.host, lane(shape_.first, first),
                              copied.one_way, end(plan, shape_.first, first, first.before, copied.waited)});
    bound.bytes = bytes(plan, shape_.first);
    if (piped) {
        const UpdateTimes last = updates_.of(plan, *shape_.layers, plan.strategy.pipeline - 1);
        bound.seconds =
            std::max({bound.seconds, end(plan, shape_.last, last, first.before, 0), lane(shape_.last, last)});
        bound.bytes = std::max(bound.bytes, bytes(plan, shape_.last));
    }
    constexpr double rounding = 1e-9;  // the same sums in another order
    bound.seconds *= 1 - rounding;
    return bound;
}

}  // namespace orrery::planning
