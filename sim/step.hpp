// What a step of training says, simulated or executed: the content that reports of either share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/framework_memory.hpp"
#include "strategies/allocator_use.hpp"
#include "strategies/memory.hpp"
#include "strategies/step_program.hpp"

namespace orrery::sim {

/// Where one stage's time goes; the members add up to the step time.
struct Breakdown {
    double gemm = 0, attention = 0, memory_bound = 0;  ///< compute lane, forward + backward + recompute
    double tensor_comm = 0;                            ///< exposed: the compute lane waits for it or is occupied by it
    double expert_comm = 0;                            ///< exchanges of tokens between experts (all-to-all)
    double pipeline_comm = 0;                          ///< exposed sends and receives, the transfer itself
    double data_comm = 0;                              ///< exposed gradient and parameter communication
    double offload = 0;                                ///< exposed copies to and from the host, and its optimizer
    double optimizer = 0;                              ///< gradient norm, clipping, Adam
    double launch = 0;                                 ///< the device waits for the host
    double bubble = 0;                                 ///< waiting for other stages
    /// Seconds in which the GPU computes.
    [[nodiscard]] double busy() const { return gemm + attention + memory_bound + optimizer; }
    /// Adds a share of another one.
    void add(const Breakdown& other, double share);
    [[nodiscard]] double total() const {
        return gemm + attention + memory_bound + tensor_comm + expert_comm + pipeline_comm + data_comm + offload +
               optimizer + launch + bubble;
    }
};

using strategies::StageMemory;

/// Begin and end of one operation of a role's program, in seconds from the start of the step.
struct Span {
    double begin = 0, end = 0;
};

/// Operations [from, to) of a shortened program, which run so many times more, each time a period later (period.hpp).
struct Repeated {
    std::uint32_t from = 0, to = 0;
    std::uint32_t times = 0;
    double period = 0;  ///< seconds
    [[nodiscard]] double seconds() const { return times * period; }
};

/// Of a collective, by its number in the role's program: seconds from when this rank came until its last member did.
struct Wait {
    std::uint32_t op = 0;
    double seconds = 0;
};

/// One class of identical ranks. Spans are in program order of its role's program; empty where they were not recorded.
/// Those of a shortened program are as if it were not, all but `end`.
struct RankClass {
    std::uint32_t representative = 0, size = 1, role = 0;
    std::vector<Span> spans;
    double end = 0;                     ///< of its last operation
    std::vector<Wait> data_waits = {};  ///< where spans are recorded: of all that meets among data ranks
    Repeated repeated = {};
};

/// The GPUs of one kind that a step runs on.
struct GpuUse {
    std::string gpu, profile;  ///< names
    std::uint32_t gpus = 0;
    double power_limit_watts = 0;  ///< as in hardware::Gpu
    Breakdown mean;                ///< over its ranks, those of one stage taken for alike
};

/// What a step's time means.
struct Rates {
    double tokens_per_s = 0;
    double model_flops_per_gpu = 0;     ///< FLOP/s, no recomputation counted
    double hardware_flops_per_gpu = 0;  ///< FLOP/s that the devices really execute in layers' matrix products
    double mfu = 0, hfu = 0;            ///< of the datasheet's dense peak at the compute precision
    double mfu_causal = 0;              ///< mfu with the causal half of attention's square alone; mfu if not causal
    double training_time_s = 0;         ///< for outputs.token_budget; 0 when not asked
    double end_to_end_s = 0;            ///< the same as 8TP/(nX) (Narayanan et al., SC'21, section 5.1)
};

/// The memory that ranks need, and what they have.
struct MemoryUse {
    std::vector<StageMemory> memory;  ///< by pipeline stage, of its ranks that have least to spare
    /// By stage, what its processes keep on a GPU beside that; empty: nothing.
    std::vector<hardware::FrameworkMemory> framework;
    /// By stage, what PyTorch's allocator reserves for the step's tensors and the framework's workspaces
    /// (allocator.hpp), 0 of stages that were not replayed; empty: not asked, or other software.
    std::vector<strategies::AllocatorUse> allocator;
    std::uint64_t memory_capacity = 0;          ///< bytes per GPU, of the smallest that a rank runs on
    std::vector<std::uint64_t> stage_capacity;  ///< by pipeline stage; empty: memory_capacity everywhere
    std::uint64_t host_memory = 0;              ///< bytes of the node whose ranks need most of it, all of them together
    std::uint32_t host_node = 0;                ///< that node
    std::uint64_t host_capacity = 0;            ///< bytes of that node; 0: not known
    bool fits = true;                           ///< into the GPUs

    /// Memory of the smallest GPU that a stage runs on.
    [[nodiscard]] std::uint64_t capacity(std::size_t stage) const {
        return stage_capacity.empty() ? memory_capacity : stage_capacity[stage];
    }
    /// Bytes that a GPU of it needs: of the step's tensors at their peak, and of the framework.
    [[nodiscard]] std::uint64_t needed(std::size_t stage) const {
        return memory[stage].peak + framework_of(stage).total();
    }
    [[nodiscard]] hardware::FrameworkMemory framework_of(std::size_t stage) const {
        return framework.empty() ? hardware::FrameworkMemory{} : framework[stage];
    }
    /// What PyTorch's allocator makes of its tensors; null where that was not replayed.
    [[nodiscard]] const strategies::AllocatorUse* replayed(std::size_t stage) const {
        return !allocator.empty() && allocator[stage].replayed() ? &allocator[stage] : nullptr;
    }
    /// Bytes that it has left; below 0 where the stage does not fit.
    [[nodiscard]] double spare(std::size_t stage) const {
        return static_cast<double>(capacity(stage)) - static_cast<double>(needed(stage));
    }
    /// The stage that has least of them, which is the one with the highest peak where all GPUs are alike; the first of
    /// equals. 0 when there are no stages.
    [[nodiscard]] std::size_t fullest_stage() const {
        std::size_t fullest = 0;
        for (std::size_t stage = 1; stage < memory.size(); ++stage)
            if (spare(stage) < spare(fullest)) fullest = stage;
        return fullest;
    }
    /// Whether what ranks keep in the memory of their host fits there, as far as its size is known.
    [[nodiscard]] bool hosts_fit() const { return host_capacity == 0 || host_memory <= host_capacity; }
};

/// Who says so, and of how much.
struct Provenance {
    std::string version, profile, cluster;
    std::uint64_t seed = 1;
    std::uint32_t gpus = 0;
    std::uint64_t ops = 0;      ///< operations, calls unrolled, over all ranks
    std::uint32_t classes = 0;  ///< classes of ranks that were simulated, or ranks that were measured
};

/// Every operation with its times.
struct Recording {
    strategies::StepProgram program;  ///< what was replayed or executed
    std::vector<RankClass> trace;     ///< one entry per class, all with spans
    /// Of a simulated step one call of each block, its first operation at 0; empty for a block that is never called.
    std::vector<std::vector<Span>> blocks = {};
};

struct Step : Rates, MemoryUse, Provenance, Recording {
    double step_time_s = 0;
    std::vector<Breakdown> stages;  ///< by pipeline stage (its slowest rank)
    std::vector<GpuUse> gpu_kinds;  ///< in the order of the cluster's nodes, one entry where all GPUs are alike; empty:
                                    ///< not known
};

}  // namespace orrery::sim
