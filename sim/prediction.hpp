// What a simulated step says: the content of every report.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "strategies/memory.hpp"
#include "strategies/step_program.hpp"

namespace orrery::reliability {
struct Forecast;
}

namespace orrery::sim {

/// Where one stage's time goes; the members add up to the step time.
struct Breakdown {
    double gemm = 0, attention = 0, memory_bound = 0;  ///< compute lane, forward + backward + recompute
    double tensor_comm = 0;                            ///< exposed: the compute lane waits for it or is occupied by it
    double expert_comm = 0;                            ///< exchanges of tokens between experts (all-to-all)
    double pipeline_comm = 0;                          ///< exposed sends and receives, the transfer itself
    double data_comm = 0;                              ///< exposed gradient and parameter communication
    double offload = 0;                                ///< exposed copies to and from the host
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

/// One class of identical ranks. Spans are in program order of its role's program; empty where they were not recorded.
struct RankClass {
    std::uint32_t representative = 0, size = 1, role = 0;
    std::vector<Span> spans;
    double end = 0;  ///< of its last operation
    /// Where spans are recorded, of each collective of the data lane, in order: seconds until its last member came.
    std::vector<double> data_waits = {};
};

/// The GPUs of one kind that a step runs on.
struct GpuUse {
    std::string gpu, profile;  ///< names
    std::uint32_t gpus = 0;
    Breakdown mean;  ///< over its ranks, those of one stage taken for alike
};

/// One of several jobs on the cluster, and its first step.
struct JobStep {
    std::string name;
    std::uint32_t gpus = 0;
    double starts_at_s = 0;
    double alone_s = 0, shared_s = 0;  ///< seconds of the step, as planned and by itself, and as it went
};

/// Links that carry the step's bytes and those of others.
struct SharedLink {
    std::string name;                       ///< of one of them: "leaf 0 to spine 1"
    std::uint32_t links = 1;                ///< that are alike
    double bytes_per_second = 0;            ///< capacity of one
    double own_bytes = 0, other_bytes = 0;  ///< over one, during the step
    double busy = 0;                        ///< share of its capacity that was used during the step
};

/// Time that no measurement of such a kernel stands behind.
struct Derived {
    std::string what;  ///< "attention backward from forward"
    double share = 0;  ///< of the step's time
};

struct Prediction {
    double step_time_s = 0;
    double planned_step_time_s = 0;  ///< without perturbations and other jobs; 0 where there are none
    double tokens_per_s = 0;
    double model_flops_per_gpu = 0;     ///< FLOP/s, no recomputation counted
    double hardware_flops_per_gpu = 0;  ///< FLOP/s that the devices really execute in matrix products
    double mfu = 0, hfu = 0;            ///< of the datasheet's dense peak at the compute precision
    double mfu_causal = 0;              ///< mfu with the causal half of attention's square alone; mfu if not causal
    double scale_factor = 0;  ///< T_n / (n T_1) against one model replica's smallest placement, see report/README.md
    std::uint32_t scale_base_gpus = 0;  ///< GPUs of that reference
    double training_time_s = 0;         ///< for outputs.token_budget; 0 when not asked
    double end_to_end_s = 0;  ///< the same as 8TP/(nX) (Narayanan et al., SC'21, section 5.1); 0 when not asked
    /// With failures, checkpoints and storage, where the scenario asks; else null.
    std::shared_ptr<const reliability::Forecast> whole_run;
    std::vector<Breakdown> stages;              ///< by pipeline stage (its slowest rank)
    std::vector<StageMemory> memory;            ///< by pipeline stage
    std::uint64_t memory_capacity = 0;          ///< bytes per GPU, of the smallest that a rank runs on
    std::vector<std::uint64_t> stage_capacity;  ///< by pipeline stage; empty: memory_capacity everywhere
    std::uint64_t host_memory = 0;              ///< bytes of the node whose ranks need most of it, all of them together
    std::uint64_t host_capacity = 0;            ///< bytes of that node; 0: not known
    std::vector<GpuUse> gpu_kinds;  ///< in the order of the cluster's nodes; one entry where all GPUs are alike
    bool fits = true;
    std::vector<JobStep> jobs;             ///< the scenario's own first; empty where it is alone
    std::vector<SharedLink> shared_links;  ///< the busiest first; a few
    std::string bottleneck;                ///< "pipeline bubble 17%"
    std::vector<Derived> derived;          ///< mean over the stages, the largest first
    std::vector<std::string> advice, warnings;
    std::string version, profile, cluster;  ///< provenance
    std::uint64_t seed = 1;
    std::uint32_t gpus = 0;
    std::uint64_t ops = 0;            ///< simulated operations, calls unrolled, over all ranks
    std::uint32_t classes = 0;        ///< classes of ranks that were simulated
    strategies::StepProgram program;  ///< what was replayed
    std::vector<RankClass> trace;     ///< one entry per class, all with spans

    /// Memory of the smallest GPU that a stage runs on.
    [[nodiscard]] std::uint64_t capacity(std::size_t stage) const {
        return stage_capacity.empty() ? memory_capacity : stage_capacity[stage];
    }
};

}  // namespace orrery::sim
