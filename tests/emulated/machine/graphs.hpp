// Stream capture and graphs: pieces of work that were recorded, each behind those that it waits for, and that run again
// at every launch, in any order that respects these edges.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/emulated/machine/machine.hpp"

namespace orrery::emulated {

/// A recorded piece of work, and the nodes that must have run before it.
struct Node {
    Work work;
    std::vector<std::size_t> after;
};

/// A recording under way, of all streams that have joined it.
struct Capture {
    Stream* origin = nullptr;
    std::thread::id thread;
    std::vector<Stream*> streams;  ///< the origin among them
    std::vector<Node> nodes;
    bool ended = false;

    /// Behind what the stream recorded last.
    void add(Stream& stream, Work work);
    /// The stream goes on behind these nodes as well; it joins, if it has not.
    void join(Stream& stream, const std::vector<std::size_t>& behind);
    /// Whether all that the other streams recorded comes before what the origin recorded last.
    [[nodiscard]] bool joined() const;
};

/// One launch of a graph.
class GraphRun {
public:
    /// before: the launch before it of the same graph, which must end first; may be null.
    GraphRun(std::shared_ptr<const std::vector<Node>> nodes, std::shared_ptr<const GraphRun> before);

    /// Nodes whose turn it may be.
    [[nodiscard]] const std::vector<std::size_t>& ready() const { return begins() ? ready_ : none_; }
    [[nodiscard]] const Work& work(std::size_t node) const { return (*nodes_)[node].work; }
    void finish(std::size_t node);
    [[nodiscard]] bool finished() const { return left_ == 0; }

private:
    [[nodiscard]] bool begins() const { return before_ == nullptr || before_->finished(); }

    std::shared_ptr<const std::vector<Node>> nodes_;
    std::shared_ptr<const GraphRun> before_;
    std::vector<std::vector<std::size_t>> behind_;  ///< by node: those that wait for it
    std::vector<std::size_t> missing_;              ///< by node: how many it still waits for
    std::vector<std::size_t> ready_;
    const std::vector<std::size_t> none_;
    std::size_t left_ = 0;
};

/// Whether this thread of the host records, or the stream does (null: none): then CUDA allows no call that waits or
/// allocates.
[[nodiscard]] bool records(const Stream* stream);
/// Graphs, executable ones among them, that nobody has destroyed.
[[nodiscard]] std::size_t living_graphs();

}  // namespace orrery::emulated
