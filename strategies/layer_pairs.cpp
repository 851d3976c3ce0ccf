#include "strategies/layer_pairs.hpp"

#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "strategies/layer_ops.hpp"

namespace orrery::strategies {

namespace {

bool is_exchange(const BlockOp& op) {
    const auto* const collective = std::get_if<Collective>(&op.what);
    return collective != nullptr && collective->group.has(Axis::expert);
}

/// One direction of a layer, cut at its exchanges.
struct Cut {
    std::span<BlockOp> before, leaving, between, returning, behind;

    /// idle: where the works of a layer without exchanges go.
    Cut(std::vector<BlockOp>& ops, std::span<BlockOp> Cut::*idle) {
        std::vector<std::size_t> at;
        for (std::size_t i = 0; i < ops.size(); ++i)
            if (is_exchange(ops[i])) at.push_back(i);
        if (at.empty()) {
            this->*idle = ops;
            return;
        }
        const std::span all(ops);
        const std::size_t first_way = (at.size() + 1) / 2, left = at[first_way - 1] + 1;
        const bool returns = first_way < at.size();
        const std::size_t back = returns ? at[first_way] : ops.size(), home = returns ? at.back() + 1 : ops.size();
        before = all.first(at.front());
        leaving = all.subspan(at.front(), left - at.front());
        between = all.subspan(left, back - left);
        returning = all.subspan(back, home - back);
        behind = all.subspan(home);
    }
};

/// Merges two directions; each waits for its own exchanges alone.
class Merger {
public:
    explicit Merger(Builder& builder) : builder_(builder) {}

    struct Direction {
        std::optional<BufferId> last;     ///< result of what it did last on the compute lane
        std::optional<BufferId> awaited;  ///< result of the exchange that its next work needs
    };

    void compute(std::span<BlockOp> ops, Direction& of) {
        for (BlockOp& op : ops) {
            if (op.lane == Lane::compute) {
                if (of.awaited) op.reads.push_back(*std::exchange(of.awaited, std::nullopt));
                of.last = op.result();
                if (!first_) first_ = of.last;
            }
            merged_.push_back(&op);
        }
    }
    /// A block begins on the compute lane: what nothing stands before stays there.
    void exchange(std::span<BlockOp> ops, Direction& of) {
        if (!first_) return compute(ops, of);
        for (BlockOp& op : ops) {
            op.lane = Lane::expert;
            op.reads.push_back(of.last.value_or(*first_));
            of.awaited = op.result();
            merged_.push_back(&op);
        }
    }
    /// A block ends on the compute lane, and leaves nothing running.
    void finish(const Direction& one, const Direction& other) {
        for (std::size_t i = merged_.size(); i-- > 0 && merged_[i]->lane == Lane::expert;)
            merged_[i]->lane = Lane::compute;
        for (const Direction* each : {&one, &other})
            if (each->awaited && *each->awaited != merged_.back()->result())
                merged_.back()->reads.push_back(*each->awaited);
        for (const BlockOp* op : merged_) builder_.emit(op->lane, op->label, op->what, op->reads, op->writes);
    }

private:
    Builder& builder_;
    std::vector<BlockOp*> merged_;
    std::optional<BufferId> first_;
};

}  // namespace

void add_pair(StepProgram& step, Intern& intern, const PairedLayer& forward, const PairedLayer& backward,
              PairBlocks& pairs) {
    const auto [place, fresh] = pairs.try_emplace({forward.blocks->forward, backward.blocks->backward}, 0U);
    if (!fresh) return;
    const ShardedLayer &one = *forward.layer, &other = *backward.layer;
    Builder builder(one.name + " forward beside " + other.name + " backward");
    const std::size_t from = forward.blocks->forward_to_wait == LayerBlocks::none ? 0 : one.host_waits_before();
    std::vector<BlockOp> ahead = forward_ops(intern, builder, one, from, one.pieces.size()).ops;
    std::vector<BlockOp> back = backward_ops(intern, builder, other, backward.again, Gradients::both, 0);
    const Cut f(ahead, &Cut::before), b(back, &Cut::between);
    Merger merger(builder);
    Merger::Direction to, fro;
    merger.compute(b.before, fro);
    const std::size_t leads = b.before.empty() && !f.before.empty() ? 1 : 0;
    merger.compute(f.before.first(leads), to);
    merger.exchange(b.leaving, fro);
    merger.compute(f.before.subspan(leads), to);
    merger.compute(b.between, fro);
    merger.exchange(f.leaving, to);
    merger.exchange(b.returning, fro);
    merger.compute(f.between, to);
    merger.exchange(f.returning, to);
    merger.compute(b.behind, fro);
    merger.compute(f.behind, to);
    merger.finish(to, fro);
    place->second = static_cast<std::uint32_t>(step.blocks.size());
    step.blocks.push_back(std::move(builder).finish());
}

}  // namespace orrery::strategies
