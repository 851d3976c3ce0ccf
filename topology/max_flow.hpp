// The most that can flow from one vertex of a network to another (Dinic, "Algorithm for solution of a problem of
// maximum flow in networks with power estimation", 1970): phases of shortest augmenting paths.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery::topology {

class MaxFlow {
public:
    explicit MaxFlow(std::uint32_t vertices) : arcs_of_(vertices), level_(vertices), next_(vertices) {}
    /// An arc each way; capacities in whole units.
    void join(std::uint32_t a, std::uint32_t b, std::int64_t there, std::int64_t back);
    /// May be called once.
    std::int64_t run(std::uint32_t source, std::uint32_t sink);

private:
    struct Arc {
        std::uint32_t to;
        std::int64_t left;
    };
    bool find_levels(std::uint32_t source, std::uint32_t sink);
    std::int64_t push(std::uint32_t at, std::uint32_t sink, std::int64_t most);

    std::vector<Arc> arcs_;  // arc i and its reverse i ^ 1
    std::vector<std::vector<std::uint32_t>> arcs_of_;
    std::vector<std::int32_t> level_;
    std::vector<std::size_t> next_;
};

}  // namespace orrery::topology
