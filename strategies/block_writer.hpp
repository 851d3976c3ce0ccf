// Writes the pieces of a layer into a block, and keeps track of collectives that run beside the compute lane.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "strategies/intern.hpp"
#include "strategies/partition/tensor.hpp"

namespace orrery::strategies {

/// An operation of a block that is still to be written.
struct BlockOp {
    Lane lane = Lane::compute;
    Label label;
    What what;
    std::vector<BufferId> reads, writes;  ///< the last of `writes` stands for its result, and has no bytes
    Detail detail;

    [[nodiscard]] BufferId result() const { return writes.back(); }
};

/// The operations of one direction of a layer, in order. Buffers are the builder's, which may write several such lists.
class BlockWriter {
public:
    BlockWriter(Intern& intern, Builder& builder) : intern_(intern), builder_(builder) {}

    BufferId scratch(std::uint64_t bytes) { return builder_.buffer(bytes, Keep::scratch); }

    /// The works of one piece; writes `begins` with the first and reads `ends` with the last of them. A piece joins
    /// what the piece before left running; the last piece leaves nothing running.
    void piece(const std::vector<Work>& works, Phase phase, std::vector<BufferId> begins, std::vector<BufferId> ends,
               bool last_piece);

    /// Operations so far.
    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ops_.size()); }
    [[nodiscard]] std::vector<BlockOp> ops() && { return std::move(ops_); }

private:
    void work(const Work& work, Phase phase, bool beside, std::uint8_t joins, std::vector<BufferId> reads,
              std::vector<BufferId> writes);

    Intern& intern_;
    Builder& builder_;
    std::vector<BlockOp> ops_;
    std::map<std::uint8_t, BufferId> running_;  // flag -> what its collective writes
    BufferId last_result_ = 0;
};

}  // namespace orrery::strategies
