// What a scenario says of the whole training beyond its steps: failures, checkpoints, storage.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "documents/fields.hpp"
#include "hardware/operations.hpp"

namespace orrery::reliability {

/// What a job does while no spare node is left for a broken one.
enum class WithoutSpare : std::uint8_t { wait, shrink };

/// "reliability". Failures are independent of each other and of the job's age (Poisson).
struct Failures {
    double per_1000_node_days = -1;  ///< that end the job; < 0: hardware::failures_per_gpu_day of each GPU
    double node_mtbf_s = 0;          ///< the same said otherwise; 0: not
    double broken_share = hardware::broken_share;
    double detection_s = hardware::detection_seconds;
    double restart_s = hardware::restart_seconds;  ///< without reading the checkpoint
    static constexpr std::uint32_t as_needed = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t spare_nodes = as_needed;
    double repair_s = 0;  ///< until a broken node is a spare one; 0: not stated
    WithoutSpare without_spare = WithoutSpare::wait;

    bool operator==(const Failures&) const = default;
};

/// What a checkpoint holds: everything needed to go on; or the same without 16-bit weights, which follow from the
/// masters.
enum class Saved : std::uint8_t { states, masters };
/// The ranks of one replica of the model, or all ranks, each its part (Megatron-LM's --ckpt-fully-parallel-save).
enum class Savers : std::uint8_t { one_replica, all_ranks };
/// Where it goes. Own host memory and local drives are lost with their node, the memory of a GPU of another node is
/// not.
enum class Tier : std::uint8_t { shared, nvme, host_memory, peer_gpu };
/// Of the interval, where none is given: Young 1974, equation 1; Daly 2006, equation 37.
enum class Optimum : std::uint8_t { daly, young };

/// "checkpoint".
struct Checkpoint {
    Saved saved = Saved::states;
    Savers savers = Savers::all_ranks;
    Tier tier = Tier::shared;
    bool asynchronous = false;
    double interval_s = 0;  ///< of steps between checkpoints, rounded to whole ones; 0: the optimum
    Optimum optimum = Optimum::daly;
    std::uint32_t shared_every = 1;  ///< of a tier other than shared, each so many-th goes to the shared one too

    bool operator==(const Checkpoint&) const = default;
};

/// "storage". 0: of hardware/operations.hpp.
struct Storage {
    double read = 0, write = 0;            ///< bytes per second of the shared file system
    double node_read = 0, node_write = 0;  ///< the same as far as one node gets
    double nvme_read = 0, nvme_write = 0;  ///< of a node's drives
    double tokens_per_s_per_node = 0;      ///< that a node's data loaders prepare; 0: as many as are wanted

    bool operator==(const Storage&) const = default;
};

struct Options {
    Failures failures;
    Checkpoint checkpoint;
    Storage storage;
};

std::span<const documents::Field<Failures>> failures_fields();
std::span<const documents::Field<Checkpoint>> checkpoint_fields();
std::span<const documents::Field<Storage>> storage_fields();

/// Whether the tier's checkpoints are there after a node is gone.
constexpr bool outlives_node(Tier tier) { return tier == Tier::shared || tier == Tier::peer_gpu; }

/// Refuses what no key can say and what contradicts itself. Throws Error with pointers as in a scenario.
void check(const Options& options);

}  // namespace orrery::reliability
