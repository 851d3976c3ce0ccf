// From a scenario to its prediction: the one door that the command line and validation use.
#pragma once

#include "calibrate/profile_store.hpp"
#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"
#include "sim/run_step.hpp"
#include "sim/session.hpp"

namespace orrery::sim {

struct Options {
    bool keep_trace = false;   ///< fill Prediction::trace, Prediction::program and each stage's memory over time
    bool scale_factor = true;  ///< also predict the reference of the scale factor
    bool advice = true;        ///< also predict neighbouring plans to advise
    bool allocator = true;     ///< also replay PyTorch's allocator: what it reserves
    bool unroll = false;       ///< replay every operation of every call: spans of all, and a longer program
    bool fold = true;          ///< simulate one rank of each class where that is exact
    EngineKind engine = EngineKind::fast;
    ProgressCallback progress = {};  ///< of the step itself: operations
    Session* session = nullptr;      ///< what this prediction and others share, with one store of profiles
};

/// The profile of every kind of GPU in the scenario's cluster. Throws Error for one that is not there.
Profiles profiles_of(const scenarios::Scenario& scenario, const topology::Cluster& cluster,
                     calibrate::ProfileStore& profiles);

/// The same for a collective by itself. profile "": each GPU's own; else one for all, which must then be boards of one
/// chip.
Profiles profiles_of(const topology::Cluster& cluster, const std::string& profile, calibrate::ProfileStore& profiles);

/// Throws Error for whatever makes the scenario impossible.
Prediction predict(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles, const Options& options = {});
Prediction predict(const scenarios::Scenario& scenario, const Options& options = {});

/// Device time of each kernel of the scenario's program (strategies::build) on the GPU of a rank, as the prediction
/// takes it: what emulated ranks sleep for. Throws Error.
std::vector<double> kernel_seconds(const scenarios::Scenario& scenario, std::uint32_t rank = 0);

/// Seconds of one collective over the first `ranks` GPUs of a cluster (nccl-tests' size), nothing else running.
/// profile: as for profiles_of(). Throws Error.
double collective_seconds(const topology::ClusterSpec& cluster, const std::string& profile,
                          kernels::CollectiveKind kind, std::uint32_t ranks, double bytes,
                          calibrate::ProfileStore& profiles);
double collective_seconds(const topology::ClusterSpec& cluster, const std::string& profile,
                          kernels::CollectiveKind kind, std::uint32_t ranks, double bytes);

}  // namespace orrery::sim
