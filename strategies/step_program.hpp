// The central type: what every rank computes, sends and keeps in memory during one training step.
//
// One program per role (usually a pipeline stage); every rank of that role runs it unchanged. Program order,
// lanes and buffers are all there is: an operation begins when its lane is free, when the host has issued it
// (in program order) and when the last writers of what it reads, and the last users of what it writes, have
// ended. Everything else is derived: waits between lanes, overlap, memory over time.
//
// A repeated run of operations (one layer's forward, one layer's backward) is written once, as a block, and
// called: GPT-3's step on 1,024 GPUs is some 20,000 calls that stand for 33 million kernels. A block begins and
// ends on the compute lane and joins its other lanes before it ends, so a call behaves as one operation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kernels/collective.hpp"
#include "kernels/kernel.hpp"
#include "models/routing.hpp"
#include "strategies/dataflow.hpp"
#include "strategies/mesh.hpp"
#include "strategies/sharding.hpp"
#include "strategies/stage_state.hpp"

namespace orrery::strategies {

/// A lane is a CUDA stream: operations on it run in program order, one at a time. Sends and receives have lanes of
/// their own, as NCCL runs the parts of a group call at once, and those of a way from the last stage to the first
/// (against: chunks in a V, a second copy of the model) others again, because their peers are others; so have copies to
/// the host (offload) and back (reload), as a GPU has a copy engine for each direction and PCIe is full duplex. What
/// the host's cores compute for the rank has one as well, and what its drives read and write for it one each. A
/// collective that the next kernel waits for stands on the compute lane; exchanges of tokens have one where another
/// micro-batch computes beside them (layer_pairs.hpp).
enum class Lane : std::uint8_t {
    compute,
    tensor,
    expert,
    data,
    send_forward,
    recv_forward,
    send_backward,
    recv_backward,
    offload,
    reload,
    host,
    send_forward_against,
    recv_forward_against,
    send_backward_against,
    recv_backward_against,
    read_storage,
    write_storage,
    replicas
};
inline constexpr std::size_t lanes = 18;
std::string_view name(Lane lane);
/// Whether what meets there is among data ranks: gradients and parameters.
constexpr bool among_data_ranks(Lane lane) { return lane == Lane::data || lane == Lane::replicas; }

/// What a buffer holds.
enum class Keep : std::uint8_t { weight, gradient, optimizer, activation, scratch };
inline constexpr std::size_t keeps = 5;
std::string_view name(Keep keep);

enum class Where : std::uint8_t { device, host };

/// How long a buffer lives, whatever it holds. step: from the step's beginning to its end, and into the next; with
/// several versions when values of steps before are still needed. use: from its first write to its last use in program
/// order (weights that are gathered for a layer, say).
struct Lifetime {
    enum class Span : std::uint8_t { step, use } span = Span::step;
    std::uint16_t versions = 1;  ///< of `bytes` each, all there at once

    bool operator==(const Lifetime&) const = default;
};
/// Weights, gradients and optimizer states live for the step, activations and scratch for their use.
Lifetime usual_lifetime(Keep keep);

using BufferId = std::uint32_t;
struct Buffer {
    std::uint64_t bytes = 0;
    Keep keep = Keep::scratch;
    Where where = Where::device;
    Lifetime lifetime = usual_lifetime(Keep::scratch);

    bool operator==(const Buffer&) const = default;
};

/// Index into StepProgram::kernels.
struct Compute {
    std::uint32_t kernel = 0;
    bool operator==(const Compute&) const = default;
};
/// What an exchange of tokens by the flex dispatcher sends: each token once to every node that has experts of it, and
/// there to the ranks that do (DeepEP, HybridEP).
struct OnceANode {
    models::Routing routing;
    double copies = 1;         ///< of each token in the exchange's bytes: one for every rank that has experts of it
    std::uint64_t tokens = 0;  ///< of a rank
    bool operator==(const OnceANode&) const = default;
};
/// bytes: nccl-tests' "size", the whole vector.
struct Collective {
    kernels::CollectiveKind kind = kernels::CollectiveKind::all_reduce;
    AxisSet group;
    std::uint64_t bytes = 0;
    std::uint32_t once = 0;  ///< of an all_to_all: 1 + index into StepProgram::exchanges; 0: each rank sends to each
    /// Of a reduce_scatter: what brings it about.
    GradReduceCollective by = GradReduceCollective::reduce_scatter;
    bool operator==(const Collective&) const = default;

    /// Tokens on their way between experts, or features between ranks that divide classes: not heads that context ranks
    /// exchange.
    [[nodiscard]] constexpr bool exchanges_tokens() const {
        const bool of_context = group.has(Axis::context) || group.has(Axis::context_inner);
        return group.has(Axis::expert) || (kind == kernels::CollectiveKind::all_to_all && !of_context);
    }
    /// What the links carry. Of reduces a broadcast, their mirror image: along the same chains, the other way round.
    [[nodiscard]] constexpr kernels::CollectiveKind on_links() const {
        switch (by) {
            case GradReduceCollective::reduce: return kernels::CollectiveKind::broadcast;
            case GradReduceCollective::all_reduce: return kernels::CollectiveKind::all_reduce;
            case GradReduceCollective::reduce_scatter: break;
        }
        return kind;
    }
    /// Of what runs, for reports: "reduce", or a collective's.
    [[nodiscard]] std::string_view name() const {
        return by == GradReduceCollective::reduce ? "reduce" : kernels::name(on_links());
    }
};
/// To the rank `delta` steps along an axis; the k-th send meets the k-th receive of the peer with the opposite delta on
/// the lane for the same: activations (forward) and gradients (backward) may go the same way.
struct Send {
    Axis axis = Axis::pipeline;
    std::int32_t delta = 1;
    std::uint64_t bytes = 0;
    bool operator==(const Send&) const = default;
};
struct Recv {
    Axis axis = Axis::pipeline;
    std::int32_t delta = -1;
    std::uint64_t bytes = 0;
    bool operator==(const Recv&) const = default;
};
/// Between the device's memory and the host's (pinned), or between the host's and its node's drives.
struct Copy {
    enum class To : std::uint8_t { host, device, storage, host_from_storage } to = To::host;
    std::uint64_t bytes = 0;
    [[nodiscard]] bool of_drives() const { return to == To::storage || to == To::host_from_storage; }
    bool operator==(const Copy&) const = default;
};
/// Runs StepProgram::blocks[block] as a subroutine; in a shortened program (build.hpp) several times, one behind the
/// other, as layers that are alike do.
struct Call {
    std::uint32_t block = 0;
    std::uint32_t times = 1;
    bool operator==(const Call&) const = default;
};
/// A kernel (index into StepProgram::kernels) that the host's cores run, on what lies in the host's memory.
struct HostCompute {
    std::uint32_t kernel = 0;
    bool operator==(const HostCompute&) const = default;
};
/// The host waits until what this operation reads is there (cudaStreamSynchronize, item()).
struct HostSync {
    bool operator==(const HostSync&) const = default;
};

using What = std::variant<Compute, Collective, Send, Recv, Copy, Call, HostCompute, HostSync>;

enum class Phase : std::uint8_t { forward, recompute, backward, gradient, optimizer };
std::string_view name(Phase phase);

/// What an operation is called and where it belongs: for people, and for what adds up times. Nothing is executed by it.
struct Label {
    std::uint32_t name = 0;  ///< index into StepProgram::names
    std::int32_t micro_batch = -1;
    std::int32_t layer = -1;
    Phase phase = Phase::forward;
    bool routed = false;  ///< its work grows with the tokens that routers send to this rank's experts
    bool plain = false;   ///< an operator of the framework itself, beside the modules of an engine that layers are of
    bool single = false;  ///< one operator of PyTorch, where a layer's other kernels stand for several
    bool looped = false;  ///< handed out by a loop of an engine in C++, whose first product stands for the operator
};

inline constexpr std::uint16_t no_state = 0xffff;

struct Op {
    What what;
    Label label;
    std::uint32_t operands = 0;  ///< Program::operands[operands ...]: reads, then writes
    std::uint16_t reads = 0, writes = 0;
    Lane lane = Lane::compute;
    /// Index into Program::state_details, of an operation on its stage's parameters; of others their buffers, and in
    /// blocks Program::details, say what they take.
    std::uint16_t state = no_state;
};

inline constexpr std::uint32_t no_flow = ~std::uint32_t{0};

/// Rounds of a steady pipeline: runs of operations, one behind the other, that differ in their micro-batches alone. In
/// a shortened program (build.hpp) more of them follow the last that is written.
struct Rounds {
    std::uint32_t first = 0;     ///< operation that begins the first
    std::uint32_t ops = 0;       ///< of each; 0: there are none
    std::uint32_t written = 0;   ///< rounds
    std::uint32_t left_out = 0;  ///< rounds that follow and are not written

    [[nodiscard]] std::uint32_t end() const { return first + ops * written; }
    /// How often a step comes to an operation that is written: those left out count as the last that is not.
    [[nodiscard]] std::uint64_t times(std::uint32_t op) const {
        return op < end() && op + ops >= end() ? std::uint64_t{1} + left_out : 1;
    }
};

/// A tensor that a layer's forward leaves for its backward, or for the gradient of its weights by itself: the operation
/// it comes with.
struct KeptTensor {
    std::uint64_t bytes = 0;
    std::uint32_t op = 0;
    bool for_weights = false;
};

struct Program {
    std::string name;  ///< "stage 3", "block forward"
    std::vector<Buffer> buffers;
    std::vector<Op> ops;
    std::vector<BufferId> operands;
    /// Of a block: the tensors of its layer (index into StepProgram::flows), and what each operation takes of them.
    std::uint32_t flow = no_flow;
    std::vector<Detail> details = {};
    bool instead = false;               ///< of a backward: it stands for those of its layer that are in two parts
    std::vector<KeptTensor> kept = {};  ///< of a layer's forward, in the order in which they come
    /// Of a stage: its parameters as a whole, and what operations take of them.
    StageState state = {};
    std::vector<StateDetail> state_details = {};
    Rounds rounds = {};  ///< of a shortened program

    /// Of a block: whether it is the forward of its layer, or a part of it.
    [[nodiscard]] bool is_forward() const { return !ops.empty() && ops.front().label.phase == Phase::forward; }
    [[nodiscard]] std::span<const BufferId> reads(const Op& op) const {
        return {operands.data() + op.operands, op.reads};
    }
    [[nodiscard]] std::span<const BufferId> writes(const Op& op) const {
        return {operands.data() + op.operands + op.reads, op.writes};
    }
};

struct StepProgram {
    Mesh mesh;
    std::vector<std::string> names;
    std::vector<kernels::Kernel> kernels;
    std::vector<OnceANode> exchanges;
    std::vector<Program> blocks;   ///< bodies of calls; they hold no calls, sends, receives or host syncs
    std::vector<LayerFlow> flows;  ///< of layers: its blocks, forward and backward, share one
    std::vector<Program> programs;
    std::vector<std::uint16_t> role;  ///< rank -> index into programs
    /// Steps that the programs stand for, one after the other: a window. Times and bytes on the wire of one step are
    /// its share of the window; memory is the window's, whose steps go on from each other's lasting buffers.
    std::uint32_t steps = 1;

    /// Programs of a stage follow each other: one, or one for each number of micro-batches that its ranks take.
    [[nodiscard]] std::uint32_t programs_of_stage() const {
        return static_cast<std::uint32_t>(programs.size()) / mesh.along(Axis::pipeline);
    }
    /// None for a collective in which every rank sends to every other.
    [[nodiscard]] const OnceANode* once_a_node(const Collective& collective) const {
        return collective.once > 0 ? &exchanges[collective.once - 1] : nullptr;
    }
};

/// Appends operations to one program.
class Builder {
public:
    explicit Builder(std::string name) { program_.name = std::move(name); }
    BufferId buffer(const Buffer& buffer);
    BufferId buffer(std::uint64_t bytes, Keep keep, Where where = Where::device) {
        return buffer({bytes, keep, where, usual_lifetime(keep)});
    }
    BufferId buffer(std::uint64_t bytes, Keep keep, Lifetime lifetime) {
        return buffer({bytes, keep, Where::device, lifetime});
    }
    std::uint32_t emit(Lane lane, Label label, What what, std::span<const BufferId> reads,
                       std::span<const BufferId> writes);
    std::uint32_t emit(Lane lane, Label label, What what, std::initializer_list<BufferId> reads,
                       std::initializer_list<BufferId> writes);
    /// The operation that was emitted last takes these of its stage's parameters. Returns Op::state, for others that
    /// take the same.
    std::uint16_t state(StateDetail detail);
    void same_state(std::uint16_t known) { program_.ops.back().state = known; }
    /// From here on operations take nothing of their stage's parameters: they are priced, and cannot be executed.
    void price_only() { priced_only_ = true; }
    void stage_state(StageState state) { program_.state = std::move(state); }
    /// About so many operations are to come.
    void expect(std::size_t operations) { program_.ops.reserve(program_.ops.size() + operations); }
    [[nodiscard]] std::uint64_t bytes(BufferId buffer) const { return program_.buffers[buffer].bytes; }
    /// Operations so far.
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(program_.ops.size()); }
    [[nodiscard]] Program finish() && {
        program_.ops.shrink_to_fit();
        program_.buffers.shrink_to_fit();
        program_.operands.shrink_to_fit();
        return std::move(program_);
    }

private:
    Program program_;
    bool priced_only_ = false;
};

/// Everything that makes a program meaningless, one line each, empty when there is nothing: buffers or kernels
/// out of range, operands that do not fit the contracts of their kernels (flow_checks.hpp, state_checks.hpp),
/// activations read before they are written, blocks that do not begin and end on the compute lane or leave a lane
/// unjoined, sends and receives that do not match in order and size, collectives that a group's ranks issue in
/// different order or size, deadlock.
std::vector<std::string> verify(const StepProgram& step);

/// Readable text of one program (and of the blocks it calls): golden files, `orrery explain`.
std::string to_text(const StepProgram& step, std::uint32_t role);

/// The same step with every call replaced by the operations of its block.
StepProgram unrolled(const StepProgram& step);

/// Operations that the calls of one program stand for.
std::uint64_t unrolled_ops(const StepProgram& step, std::uint32_t role);

}  // namespace orrery::strategies
