// What the hosts' proxy threads take of a collective's chunks: nothing that is noticed, but with Amazon's plugin where
// a scenario states its version before 1.8, or that of an NCCL whose small chunks no plugin changes.
#pragma once

#include "sim/collective/nccl_tuning.hpp"

namespace orrery::sim {

/// Bytes of one chunk of NVLSTree on one channel of one GPU, for an all_reduce of `bytes` among `nodes` nodes with
/// `rails` GPUs each. Not monotonic: larger all_reduces go in larger chunks, step by step.
double nvls_tree_chunk(double bytes, std::uint32_t rails, std::uint32_t nodes, const Machine& machine);

/// Requests and completions of a GPU's proxy for a chunk that it sends and one that it receives (aws-ofi-nccl,
/// src/nccl_ofi_rdma.c, "Types of completions"). Of the sender the writes, posted and completed, and the receiver's
/// word that there is room, completed and its buffer posted again; of the receiver that word, posted and completed,
/// the writes' arrivals, and a flush, posted and completed.
double requests_per_chunk(double chunk, const Machine& machine);

/// Seconds of the busiest GPU's proxy for an all_reduce by NVLSTree, of which a node sends, and receives, `node_bytes`
/// per byte.
double proxy_seconds(double bytes, double node_bytes, std::uint32_t rails, std::uint32_t nodes, const Machine& machine);

}  // namespace orrery::sim
