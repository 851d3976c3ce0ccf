// What a node's own drives read and write for its ranks.
#pragma once

#include <string>

#include "strategies/plan.hpp"
#include "strategies/step_program.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

/// Time of a read or a write at the drives' sequential rate, which ranks of a node share: they run the same program,
/// and so use the drives at the same time. Reads and writes each have their rate. Not modelled: what one takes from the
/// other, small requests, the host's memory that both pass through.
class NodeDrives {
public:
    /// Of the GPU of one rank, of so many on GPUs of their own; rates: storage's, else hardware/operations.hpp's.
    NodeDrives(const topology::Cluster& cluster, topology::GpuId gpu, const strategies::Plan& plan,
               std::uint32_t ranks);

    [[nodiscard]] double seconds(const strategies::Copy& copy) const;
    /// "the node's drives read at ...".
    [[nodiscard]] std::string origin() const;

private:
    double read_, write_;  ///< bytes per second of one rank
    bool stated_;          ///< by the scenario
    std::uint32_t sharing_;
};

}  // namespace orrery::sim
