// Executes blocks as the program writes them: every operand of an operation becomes an address.
#pragma once

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "run/bind.hpp"
#include "run/stage_model.hpp"
#include "strategies/contract.hpp"

namespace orrery::run {

/// A layer's forward or backward for one micro-batch.
struct LayerCall {
    std::uint32_t block = 0;  ///< index into StepProgram::blocks
    std::int32_t layer = 0, micro_batch = 0;
};

/// What a call takes of other layers: forward its inputs; backward the gradient of its output (first), and of its
/// inputs' gradients what other layers that take the same have left (null: nothing yet).
struct Taken {
    Tensor first{}, second{}, before{}, second_before{};
};
/// What it leaves: forward its output (first), backward the gradients of its inputs; null where it has none.
struct Left {
    Tensor first{}, second{};
};

/// Binds the operations of calls in program order. A tensor takes memory with the first operation that touches it and
/// gives it back behind the last, or behind the last block of its layer that needs it. What it refers to must outlive
/// it.
class Interpreter {
public:
    Interpreter(const strategies::StepProgram& step, Bind& bind, const StageModel& model);

    /// Before a call's first operation. Throws std::logic_error where there is a gradient that nothing adds to.
    void enter(const LayerCall& call, const Taken& taken);
    /// The action of the call's operation number `op`.
    Action bind(const LayerCall& call, std::uint32_t op);
    /// Behind a call's last operation.
    Left leave(const LayerCall& call);

    /// What the layer keeps for later blocks of a micro-batch, so that it can wait elsewhere: others may empty these
    /// tensors and put new ones there. Empty ones may be among them.
    std::vector<Tensor*> kept(std::int32_t layer, std::int32_t micro_batch);

private:
    /// What of a layer's tensors a block needs.
    struct Needs {
        bool begins = false, ends = false;  ///< no block of the layer comes before, or behind
        /// Of the layer's flow: what lies there as the block begins, as the members of Taken, and what it leaves, as
        /// those of Left; none: nothing.
        std::array<strategies::ValueId, 4> takes{strategies::no_value, strategies::no_value, strategies::no_value,
                                                 strategies::no_value};
        std::array<strategies::ValueId, 2> leaves{strategies::no_value, strategies::no_value};
        std::vector<bool> later;          ///< by tensor: a later block reads what lies there behind this one
        std::vector<std::uint32_t> last;  ///< by tensor: the last operation that touches it
        std::vector<std::vector<strategies::Touched>> touched{};  ///< by operation
    };
    using Tensors = std::vector<Tensor>;

    void find_needs(const std::vector<std::uint32_t>& blocks);
    void find_ends(const std::vector<std::uint32_t>& blocks);
    [[nodiscard]] bool forms(std::uint32_t block, strategies::ValueId gradient) const;
    [[nodiscard]] const strategies::LayerFlow& flow_of(const LayerCall& call) const {
        return step_.flows[step_.blocks[call.block].flow];
    }
    Tensors& tensors_of(const LayerCall& call) { return tensors_.at({call.layer, call.micro_batch}); }
    [[nodiscard]] Elements elements(const LayerCall& call, const strategies::View& view);
    [[nodiscard]] NarrowWeights::Weight narrow_weight(const LayerCall& call, const strategies::Value& value) const {
        return model_.narrow_weights().at(call.layer, value.of);
    }
    Action bind_kernel(const LayerCall& call, const kernels::Kernel& kernel, const strategies::Detail& detail);
    Action bind_parts(const LayerCall& call, const kernels::Kernel& part, const strategies::Detail& detail);
    Action bind_by_position(const LayerCall& call, const kernels::Pointwise& whole, const strategies::Detail& detail);
    Action bind_shared(const LayerCall& call, const kernels::Kernel& kernel, const strategies::Detail& detail);
    Action bind_collective(const LayerCall& call, const strategies::Op& op, const strategies::Detail& detail);
    Action bind_operation(const LayerCall& call, const strategies::Op& op, const strategies::Detail& detail);
    std::vector<Action> zero_before(const LayerCall& call, std::uint32_t op);
    Action bind_dropout(const LayerCall& call, const kernels::Kernel& kernel, const strategies::Detail& detail);
    Action bind_narrowed(const LayerCall& call, const kernels::Pointwise& kernel, const strategies::Detail& detail);
    /// Where an operation's operands lie, one behind the other where they are columns of packed rows: what is read so
    /// is copied before it, what is written behind it.
    struct Addresses {
        std::vector<Elements> operands;
        std::vector<Action> before{}, behind{};
        std::vector<Tensor> packed{};
        /// With `work` between the copies.
        [[nodiscard]] Action around(Action work);
    };
    void add(Addresses& to, const LayerCall& call, const strategies::View& view, std::uint64_t elements, bool reads,
             bool writes);
    [[nodiscard]] Addresses addresses(const LayerCall& call, const kernels::Kernel& kernel,
                                      const strategies::Detail& detail);
    [[nodiscard]] kernels::Settings settings(const LayerCall& call, const strategies::Launch& launch);

    const strategies::StepProgram& step_;
    Bind& bind_;
    const StageModel& model_;
    std::vector<Needs> needs_;                                          ///< by block
    std::map<std::pair<std::int32_t, std::int32_t>, Tensors> tensors_;  ///< by layer and micro-batch, by ValueId
};

}  // namespace orrery::run
