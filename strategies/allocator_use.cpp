#include "strategies/allocator_use.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <variant>
#include <vector>

#include "hardware/caching_allocator.hpp"
#include "strategies/liveness.hpp"

namespace orrery::strategies {

namespace {

using hardware::CachingAllocator;

/// After so many a step that still takes more is taken for the last: what it takes no longer returns.
constexpr int most_steps = 6;

struct OutOfMemory {};

/// Blocks that were taken, by the buffer that they are of.
class Blocks {
public:
    Blocks(CachingAllocator& allocator, std::size_t buffers) : allocator_(allocator), of_(buffers) {}

    void take(BufferId buffer, std::uint64_t bytes) {
        if (bytes == 0) return;
        const auto block = allocator_.take(bytes);
        if (!block) throw OutOfMemory{};
        of_[buffer].push_back(*block);
    }
    void give(BufferId buffer) {
        for (const CachingAllocator::Address block : of_[buffer]) allocator_.give(block);
        of_[buffer].clear();
    }

private:
    CachingAllocator& allocator_;
    std::vector<std::vector<CachingAllocator::Address>> of_;
};

/// By operation the buffers that it is the first and the last to use, on the device.
struct Turns {
    std::vector<std::vector<BufferId>> comes, goes;
};

Turns turns_of(const Program& program) {
    Turns turns{std::vector<std::vector<BufferId>>(program.ops.size()),
                std::vector<std::vector<BufferId>>(program.ops.size())};
    const std::vector<Uses> lives = uses(program);
    for (BufferId id = 0; id < lives.size(); ++id) {
        const Buffer& buffer = program.buffers[id];
        if (lasting(buffer) || buffer.where == Where::host || buffer.bytes == 0 || !lives[id].any()) continue;
        turns.comes[lives[id].first].push_back(id);
        turns.goes[lives[id].last].push_back(id);
    }
    return turns;
}

/// By flow, what one layer's forward keeps, and of it what is for the gradients of weights alone.
struct KeptBytes {
    std::uint64_t others = 0, for_weights = 0;
};

std::vector<KeptBytes> kept_of_flows(const StepProgram& step) {
    std::vector<KeptBytes> kept(step.flows.size());
    for (const Program& block : step.blocks)
        for (const KeptTensor& tensor : block.kept)
            (tensor.for_weights ? kept[block.flow].for_weights : kept[block.flow].others) += tensor.bytes;
    return kept;
}

/// The buffers of a call into which its layer's tensors come: what they are together. none: the call keeps nothing, or
/// holds it otherwise.
struct KeptIn {
    static constexpr BufferId none = ~BufferId{0};
    BufferId others = none, for_weights = none;
};

KeptIn kept_in(const Program& program, const Op& call, const KeptBytes& layer) {
    KeptIn in;
    for (const BufferId id : program.writes(call)) {
        const Buffer& buffer = program.buffers[id];
        if (lasting(buffer) || buffer.keep != Keep::activation || buffer.where == Where::host) continue;
        const auto holds = [&](std::uint64_t bytes) { return bytes > 0 && bytes_of(buffer) % bytes == 0; };
        if (in.others == KeptIn::none && holds(layer.others))
            in.others = id;
        else if (in.for_weights == KeptIn::none && holds(layer.for_weights))
            in.for_weights = id;
    }
    return in;
}

class Replay {
public:
    Replay(const StepProgram& step, const Program& program, const AllocatorTerms& terms)
        : step_(step),
          program_(program),
          terms_(terms),
          allocator_(terms.capacity),
          blocks_(allocator_, program.buffers.size() + 1),
          turns_(turns_of(program)),
          by_tensor_(program.buffers.size()) {
        for (const Program& block : step.blocks) turns_of_blocks_.push_back(turns_of(block));
        const std::vector<KeptBytes> kept = kept_of_flows(step);
        for (const Op& op : program.ops) {
            const auto* call = std::get_if<Call>(&op.what);
            const Program* block = call != nullptr ? &step.blocks[call->block] : nullptr;
            const bool keeps = block != nullptr && !block->kept.empty();
            kept_in_.push_back(keeps ? kept_in(program, op, kept[block->flow]) : KeptIn{});
            for (const BufferId id : {kept_in_.back().others, kept_in_.back().for_weights})
                if (id != KeptIn::none) by_tensor_[id] = true;
        }
    }

    AllocatorUse run() {
        AllocatorUse use;
        try {
            begin();
            for (int steps = 0; steps < most_steps; ++steps) {
                const std::uint64_t before = allocator_.most_reserved();
                run_step(steps == 0);
                if (steps > 0 && allocator_.most_reserved() == before) break;
            }
        } catch (const OutOfMemory&) {
            use.out_of_memory = true;
        }
        use.allocated = allocator_.most_allocated();
        use.reserved = allocator_.most_reserved();
        use.retries = allocator_.retries();
        return use;
    }

private:
    /// What lasts, as it is made with the model; and the workspaces.
    void begin() {
        std::uint64_t later = std::accumulate(terms_.moments.begin(), terms_.moments.end(), std::uint64_t{0});
        for (BufferId id = 0; id < program_.buffers.size(); ++id) {
            const Buffer& buffer = program_.buffers[id];
            if (!lasting(buffer) || buffer.where == Where::host) continue;
            const std::uint64_t bytes = bytes_of(buffer);
            const std::uint64_t lacks = buffer.keep == Keep::optimizer ? std::min(later, bytes) : 0;
            later -= lacks;
            blocks_.take(id, bytes - lacks);
        }
        blocks_.take(beside(), terms_.workspaces);
    }

    void run_step(bool first) {
        for (std::uint32_t i = 0; i < program_.ops.size(); ++i) {
            const Op& op = program_.ops[i];
            if (first && op.label.phase == Phase::optimizer) {
                first = false;
                for (const std::uint64_t bytes : terms_.moments) blocks_.take(beside(), bytes);
            }
            const auto* call = std::get_if<Call>(&op.what);
            for (const BufferId id : turns_.comes[i])
                if (!by_tensor_[id]) blocks_.take(id, bytes_of(program_.buffers[id]));
            if (call != nullptr)
                for (std::uint32_t time = 0; time < call->times; ++time) run_block(call->block, kept_in_[i]);
            for (const BufferId id : turns_.goes[i]) blocks_.give(id);
        }
    }

    /// An operation's own buffers come before what it leaves: logits before their copy in fp32.
    void run_block(std::uint32_t index, const KeptIn& kept_in) {
        const Program& block = step_.blocks[index];
        const Turns& turns = turns_of_blocks_[index];
        Blocks own(allocator_, block.buffers.size());
        auto kept = block.kept.begin();
        const auto leave_until = [&](std::size_t op) {
            for (; kept != block.kept.end() && kept->op <= op; ++kept) {
                const BufferId in = kept->for_weights ? kept_in.for_weights : kept_in.others;
                if (in != KeptIn::none) blocks_.take(in, kept->bytes);
            }
        };
        for (std::size_t i = 0; i < block.ops.size(); ++i) {
            for (const BufferId id : turns.comes[i]) own.take(id, bytes_of(block.buffers[id]));
            leave_until(i);
            for (const BufferId id : turns.goes[i]) own.give(id);
        }
        leave_until(block.ops.size());  // of a piece that runs nothing
    }

    /// Stands for what is no buffer of the program.
    [[nodiscard]] BufferId beside() const { return static_cast<BufferId>(program_.buffers.size()); }

    const StepProgram& step_;
    const Program& program_;
    const AllocatorTerms& terms_;
    CachingAllocator allocator_;
    Blocks blocks_;
    Turns turns_;
    std::vector<Turns> turns_of_blocks_;
    std::vector<KeptIn> kept_in_;  // by operation
    std::vector<bool> by_tensor_;  // by buffer: it comes tensor by tensor
};

}  // namespace

AllocatorUse allocator_use(const StepProgram& step, std::uint32_t role, const AllocatorTerms& terms) {
    return Replay(step, step.programs[role], terms).run();
}

}  // namespace orrery::strategies
