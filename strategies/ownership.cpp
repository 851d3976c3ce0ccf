#include "strategies/ownership.hpp"

#include <algorithm>

#include "strategies/stage_split.hpp"

namespace orrery::strategies {

namespace {

/// How a class lies on ranks that are no replicas of each other: by widths, by experts, by layers.
void place_parts(const Plan& plan, ParameterClass of, Along& column) {
    const TensorGrid grid = plan.tensor_grid();
    if (grid.divides()) {  // what few numbers a cube's ranks hold together they have summed layer by layer
        for (const Axis axis : {Axis::tensor_row, Axis::tensor_column}) column[axis] = Placement::sharded_width;
        if (grid.cube()) column[Axis::tensor_depth] = Placement::sharded_width;
    } else {
        column[Axis::tensor] = of == ParameterClass::norm ? Placement::replicated : Placement::sharded_width;
    }
    column[Axis::pipeline] = Placement::sharded_width;
    if (of == ParameterClass::expert && plan.expert_extent() > 1) column[Axis::expert] = Placement::sharded_width;
    // First and last stage hold the words that logits share, or that are looked up to predict further tokens.
    const bool at_both_ends = plan.model.tied_embeddings || plan.model.further_tokens > 0;
    if (of == ParameterClass::embedding && at_both_ends && !ends_meet(plan))
        column[Axis::pipeline] = Placement::replicated;
}

}  // namespace

AxisSet Along::split(AxisSet within) const {
    AxisSet set;
    for (const Axis axis : all_axes) {
        const Placement placement = (*this)[axis];
        if (within.has(axis) && placement != Placement::replicated && placement != Placement::partial)
            set = set | AxisSet{axis};
    }
    return set;
}

Ownership ownership(const Plan& plan, ParameterClass of) {
    Ownership result;
    result.replicas = (of == ParameterClass::expert ? plan.expert_data_group() : plan.data_group()) | plan.copies();
    place_parts(plan, of, result.used);
    result.weights = result.formed = result.gradients = result.states = result.used;
    // Under sequence parallelism tensor ranks see other tokens; and both ends of the pipeline use a tied embedding.
    const bool sequence = plan.strategy.sequence_parallel && plan.strategy.tensor > 1;
    if (of == ParameterClass::norm && sequence)
        result.formed[Axis::tensor] = result.gradients[Axis::tensor] = Placement::partial;
    if (of == ParameterClass::embedding && result.used[Axis::pipeline] == Placement::replicated)
        result.formed[Axis::pipeline] = result.gradients[Axis::pipeline] = Placement::partial;
    const bool copies = plan.strategy.optimizer_instances > 1;  // along the axis; else it parts ranks that share
    const AxisSet all = plan.data_group() | plan.copies(), sharing = copies ? all.without(Axis::replica) : all;
    const bool shared = plan.mesh().group_size(sharing) > 1;
    const Kept shares = shared ? plan.strategy.kept() : keeps_all, by_groups = plan.strategy.kept_by_groups();
    for (const Axis axis : all_axes) {
        if (!result.replicas.has(axis)) continue;
        const Kept& kept = copies && axis == Axis::replica ? by_groups : shares;
        result.formed[axis] = Placement::partial;
        result.weights[axis] = kept.weights;
        result.gradients[axis] = kept.gradients;
        result.states[axis] = kept.states;
    }
    return result;
}

std::vector<Move> moves(const Mesh& mesh, const Along& from, const Along& to, AxisSet within) {
    using kernels::CollectiveKind;
    std::vector<Move> list;
    for (const Axis axis : all_axes) {
        if (!within.has(axis)) continue;
        const auto kind = conversion(from[axis], to[axis]);
        if (!kind) continue;
        const auto same = std::ranges::find(list, *kind, &Move::kind);
        if (same == list.end())
            list.push_back({*kind, AxisSet{axis}, {}});
        else
            same->group = same->group | AxisSet{axis};
    }
    std::erase_if(list, [&](const Move& move) { return mesh.group_size(move.group) == 1; });
    const auto order = [](const Move& move) {
        return move.kind == CollectiveKind::reduce_scatter ? 0 : move.kind == CollectiveKind::all_gather ? 2 : 1;
    };
    std::ranges::stable_sort(list, {}, order);
    // A scatter makes parts of what follows; a gather finds parts along axes that stay split.
    AxisSet split = from.split(within);
    for (Move& move : list) {
        if (move.kind == CollectiveKind::all_gather) split = split - move.group;
        move.split = split;
        if (move.kind == CollectiveKind::reduce_scatter) split = split | move.group;
    }
    return list;
}

std::uint64_t share(const Mesh& mesh, const Ownership& of, const Along& column, std::uint64_t amount) {
    return amount / mesh.group_size(column.split(of.replicas));
}

AxisSet updates_differ(const Plan& plan) {
    AxisSet everywhere;
    for (const Axis axis : all_axes) everywhere = everywhere | AxisSet{axis};
    AxisSet set = ownership(plan, ParameterClass::dense).states.split(everywhere);
    if (plan.model.experts > 0) set = set | ownership(plan, ParameterClass::expert).states.split(everywhere);
    return set;
}

}  // namespace orrery::strategies
