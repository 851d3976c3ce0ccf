// What happens to a cluster over weeks, and what its storage moves: each number with its origin. README.md has the
// tables beside which these were chosen.
#pragma once

#include <cstdint>

namespace orrery::hardware {

/// Failures that end a job: 419 unexpected interruptions in 54 days of 16,384 H100 (Llama Team, "The Llama 3 Herd of
/// Models", arXiv 2407.21783, section 3.3.4); 3.79 per 1,000 days of a node of eight.
inline constexpr double failures_per_gpu_day = 419.0 / 54 / 16384;

/// Of these, those with a broken or suspected part: "approximately 78%" (the same section, table 5). The node leaves
/// the job; after all others it goes on.
inline constexpr double broken_share = 0.78;

/// From a failure until the job is stopped and the culprit known: "less than 10 minutes" (Jiang et al., "MegaScale",
/// NSDI 2024, section 6.3); also the time-out of PyTorch's NCCL process groups (default_pg_nccl_timeout).
inline constexpr double detection_seconds = 600;

/// From there until the first step, without reading the checkpoint: 5 minutes (Kokolis et al., "Revisiting Reliability
/// in Large-Scale Machine Learning Research Clusters", HPCA 2025, arXiv 2410.21680, the u0 of its figures).
inline constexpr double restart_seconds = 300;

/// A shared file system: NVIDIA DGX SuperPOD H100 reference architecture (RA-11333), table 6, "better": 40 and 20 GB/s
/// for a scalable unit of 32 nodes, 8 and 4 GB/s for one of them; both grow with the units.
inline constexpr double shared_read_per_node = 40e9 / 32, shared_write_per_node = 20e9 / 32;
inline constexpr double node_read = 8e9, node_write = 4e9;

/// Local NVMe: four drives (DGX A100 user guide: 4 x 3.84 TB) at the sequential rates of one (Samsung PM1733 product
/// brief, 3.84 TB: 7,000 and 3,800 MB/s).
inline constexpr double nvme_read = 4 * 7e9, nvme_write = 4 * 3.8e9;

}  // namespace orrery::hardware
