#include "planning/search/layer_table.hpp"

#include <algorithm>

#include "strategies/intern.hpp"
#include "strategies/memory.hpp"
#include "strategies/schedule/schedule.hpp"
#include "strategies/stage.hpp"
#include "strategies/stage_split.hpp"

namespace orrery::planning {

namespace {

using models::Part;
using strategies::LayerBlocks;
using strategies::StepProgram;

/// Times and transient bytes of every block.
struct Blocks {
    std::vector<CallSums> seconds;
    std::vector<std::uint64_t> working;

    Blocks(const StepProgram& step, const strategies::Plan& plan, const Prices& prices,
           std::optional<std::uint32_t> kind, OnOtherKinds collectives)
        : working(strategies::block_peaks(step)) {
        for (const BlockPrice& price : prices.blocks(step, plan, kind, collectives))
            seconds.push_back({price.cost.device, price.cost.host, price.kernels});
    }
    [[nodiscard]] CallSums time(std::uint32_t block) const {
        return block == LayerBlocks::none ? CallSums{} : seconds[block];
    }
    [[nodiscard]] std::uint64_t bytes(std::uint32_t block) const {
        return block == LayerBlocks::none ? 0 : working[block];
    }
};

template <class Sum>
void append(std::vector<Sum>& sums, const Sum& next) {
    Sum sum = sums.back();
    sum += next;
    sums.push_back(sum);
}

}  // namespace

std::uint32_t again_key(const strategies::Strategy& strategy) {
    const strategies::Again again = strategy.again();
    const auto policy = static_cast<std::uint32_t>(again.keeps.policy);
    return again.whole ? 1U | policy << 8U | std::uint32_t{again.keeps.names.bits()} << 16U
                       : std::uint32_t{again.modules.bits()} << 1U;
}

LayerTable::Key LayerTable::key(const strategies::Plan& plan) {
    const strategies::Strategy& s = plan.strategy;
    const bool experts = plan.model.experts > 0;  // whose groups lie along the data axis
    const auto backwards = static_cast<std::uint32_t>(schedule_of(s.schedule).backwards);
    const auto flags =
        static_cast<std::uint8_t>((s.sequence_parallel ? 1U : 0U) | (s.async_tensor_allreduce ? 2U : 0U) |
                                  (backwards * 4) | (s.placement.empty() ? 0U : 16U) | (ends_meet(plan) ? 32U : 0U) |
                                  (s.tensor_comm_overlap ? 64U : 0U));  // a tied head has then no words
    return {s.tensor,
            s.context,
            static_cast<std::uint32_t>(s.context_exchange),
            s.ulysses_degree,
            plan.training.micro_batch,
            s.expert,
            s.expert_tensor,
            experts || s.context > 1 || plan.model.text.layers > 0 ? s.data : 0,
            experts ? s.pipeline : 0,
            again_key(s),
            plan.training.seq,
            plan.mesh().ranks(),  // of whose boards the slowest is waited for
            flags};
}

LayerTable::LayerTable(const strategies::Plan& open, const Prices& prices, std::optional<std::uint32_t> kind,
                       OnOtherKinds collectives) {
    strategies::Plan plan = open;
    plan.placement = prices.placement();
    StepProgram step;
    step.mesh = plan.mesh();
    strategies::Intern intern(step);
    const strategies::ModelBlocks model = add_model_blocks(step, intern, plan);
    const Blocks blocks(step, plan, prices, kind, collectives);
    types_ = static_cast<std::uint32_t>(model.types.size());
    end_ = static_cast<std::uint32_t>(model.model.nodes.size());
    body_ = output_ = end_;
    forward_.emplace_back();
    weight_gradient_.emplace_back();
    parameters_ = expert_parameters_ = replicated_parameters_ = narrow_ = narrow_experts_ = {0};
    for (Mode* mode : {&plain_, &again_}) {
        mode->backward.emplace_back();
        mode->saved.push_back(0);
    }
    for (std::uint32_t node = 0; node < end_; ++node) {
        const std::uint32_t type = model.model.nodes[node].layer;
        const Part part = model.model.layers[type].part;
        if (part >= Part::body) body_ = std::min(body_, node);
        if (part >= Part::further) output_ = std::min(output_, node);
        type_.push_back(type);
        const LayerBlocks& plain = model.types[type].plain;
        CallSums forward = blocks.time(plain.forward_to_wait);
        append(forward_, forward += blocks.time(plain.forward));
        const bool whole = plain.backward != LayerBlocks::none;
        append(weight_gradient_, blocks.time(whole ? LayerBlocks::none : plain.weight_gradient));
        append(parameters_, plain.counts.trained);
        append(expert_parameters_, plain.counts.experts);
        append(replicated_parameters_, plain.counts.replicated);
        append(narrow_, plain.narrow_of(false, true));
        append(narrow_experts_, plain.narrow_of(true, true));
        const auto add_mode = [&](Mode& mode, const LayerBlocks& of) {
            CallSums backward = blocks.time(of.backward_to_wait);
            const std::uint32_t block = of.backward == LayerBlocks::none ? of.input_gradient : of.backward;
            add(mode, backward += blocks.time(block), of.saved_bytes, blocks.bytes(block));
        };
        add_mode(plain_, plain);
        add_mode(again_, model.types[type].recomputed);
    }
}

void LayerTable::add(Mode& mode, const CallSums& backward, std::uint64_t saved, std::uint64_t working) {
    append(mode.backward, backward);
    append(mode.saved, saved);
    mode.working.push_back(working);
}

/// As strategies::place_layers() divides them.
Run LayerTable::run(const strategies::Plan& plan, std::uint32_t stage, std::uint32_t chunk) const {
    const strategies::Strategy& s = plan.strategy;
    const strategies::PipelineShape shape = plan.pipeline_shape();
    const std::uint32_t last = shape.virtual_stages() - 1, at = shape.virtual_stage(chunk, stage);
    const strategies::LayerRange own = layers_of(plan, output_ - body_, at);
    const std::uint32_t first = body_ + own.first;
    Run run{at == 0 ? 0 : first, at == last ? end_ : first + own.count, 0};
    run.again_until = s.recompute_num_layers == 0 ? run.last : std::min(run.last, first + s.recompute_num_layers);
    return run;
}

std::uint64_t LayerTable::saved_of_first(const Run& run, std::uint32_t layers) const {
    const std::uint32_t begin = std::max(run.first, body_), end = std::min(begin + layers, run.last);
    return saved({begin, end, std::clamp(run.again_until, begin, end)});
}

std::uint64_t LayerTable::working(const Run& run) const {
    const std::uint32_t node = run.last - 1;
    return node < run.again_until ? again_.working[node] : plain_.working[node];
}

}  // namespace orrery::planning
