// Libraries between GPUs and the network, and what their versions change.
#pragma once

#include <cstdint>
#include <optional>

#include "base/version.hpp"

namespace orrery::hardware {

/// None: the newest.
struct NetworkLibraries {
    std::optional<Version> nccl, aws_ofi_nccl;
};

/// NVLSTree came with it (NCCL release notes, 2.18.1): the first version that is told apart here.
inline constexpr Version first_nccl{2, 18, 0};

// Chunks of NVLSTree: NCCL, src/enqueue.cc (computeColl, calcCollChunking), src/transport/nvls.cc (NVLS_CHUNKSIZE), at
// v2.18.5-1, v2.19.3-1, v2.20.5-1 and v2.21.5-1.
inline constexpr double kibibyte = 1024, nccl_step_bytes = 512 * kibibyte;  ///< an eighth of a buffer: the most
inline constexpr Version nccl_with_small_tree_chunks{2, 19, 3};             ///< 64 KiB on four nodes and more
inline constexpr double nccl_small_tree_chunk = 64 * kibibyte;
inline constexpr std::uint32_t nccl_small_tree_nodes = 4;
inline constexpr Version nccl_with_nvls_chunks{2, 21, 0};  ///< 128 KiB at most
inline constexpr double nccl_nvls_chunk = 128 * kibibyte;

/// NCCL_NET_FORCE_FLUSH is 0 since then (src/graph/paths.cc): a Hopper GPU flushes no chunk that it receives.
inline constexpr Version nccl_without_flush{2, 19, 1};

/// Amazon's plugin asks for chunks of 512 KiB (aws/aws-ofi-nccl, pull requests 332 and 372), which NCCL heeds
/// (NCCL_NVLSTREE_MAX_CHUNKSIZE) or, before 2.19.3, has anyway.
inline constexpr Version aws_ofi_with_large_chunks{1, 8, 0};
inline constexpr Version nccl_with_asked_chunks{2, 20, 0};
/// Since then messages of up to 256 KiB take one of a GPU's adapters; before, of more than 8 KiB all four of a p5
/// (OFI_NCCL_ROUND_ROBIN_THRESHOLD, commit 74512f3; src/nccl_ofi_scheduler.c).
inline constexpr Version aws_ofi_with_whole_messages{1, 7, 4};
inline constexpr double aws_ofi_whole_before = 8 * kibibyte, aws_ofi_whole_since = 256 * kibibyte;
inline constexpr std::uint32_t p5_adapters_per_gpu = 4;

/// What a GPU's proxy thread takes of each request that it posts and each completion that it is told of with Amazon's
/// plugin of December 2023: 81.146 ms for an all_reduce of 4 GiB by NVLSTree among 8 p5 nodes in chunks of 64 KiB,
/// where the same in large ones takes 30.2 (NVIDIA/nccl, pull request 1112). A GPU has an eighth of the data, of which
/// its node sends and receives twice, each chunk at 7 requests and completions. What newer plugins take is not
/// published: none is counted where they ask for large chunks, and as much where NCCL does not heed them.
inline constexpr double aws_ofi_chunk_requests = 7;
inline constexpr double aws_ofi_request_seconds =
    81.146e-3 / (2 * 4 * kibibyte * kibibyte * kibibyte / 8 / nccl_small_tree_chunk) / aws_ofi_chunk_requests;

}  // namespace orrery::hardware
