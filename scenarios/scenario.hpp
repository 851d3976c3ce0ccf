// One scenario: model, cluster, strategy, training, profile, outputs; loaded from one JSON file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/model_spec.hpp"
#include "reliability/options.hpp"
#include "scenarios/other_jobs.hpp"
#include "scenarios/perturbations.hpp"
#include "strategies/plan.hpp"
#include "synchrony/options.hpp"
#include "topology/catalog.hpp"

namespace orrery::scenarios {

struct Outputs {
    double token_budget = 0;  ///< tokens of the whole training run, for its end-to-end time; 0: not asked
};

struct Scenario {
    std::string name;       ///< defaults to the file's stem
    strategies::Plan plan;  ///< plan.strategy.data is derived from the cluster's GPUs when absent
    topology::ClusterSpec cluster;
    std::uint32_t gpus = 0;  ///< GPUs used: tensor x pipeline x data, at most the cluster's
    std::string profile;     ///< of the cluster's first kind of GPU: a shipped profile's name or a path
    std::map<std::string, std::string> more_profiles = {};  ///< of its other kinds, by the GPU's name
    std::uint64_t seed = 1;                                 ///< of jitter; recorded in the provenance
    Outputs outputs;
    Perturbations perturbations;  ///< without those of factor 1
    std::vector<OtherJob> other_jobs;
    /// Of the whole training; set where the file has a key of it, which needs outputs.token_budget.
    std::optional<reliability::Options> whole_run = {};
    /// How replicas keep step with each other; set where the file says.
    std::optional<synchrony::Options> synchrony = {};
};

/// `--set strategy.tensor=4`: the value is read as JSON when it parses as JSON, else as a string.
struct Override {
    std::string path, value;
};
/// "strategy.tensor=4" -> {"strategy.tensor", "4"}; throws Error.
Override parse_override(const std::string& text);

/// Reads, overrides, checks everything (schema, units, model, plan, cluster size). Throws Error with file, pointer,
/// message and hint.
Scenario load(const std::filesystem::path& file, const std::vector<Override>& overrides = {});
/// The same of a document that has been read from that file.
Scenario load(const nlohmann::json& document, const std::filesystem::path& file,
              const std::vector<Override>& overrides);

/// The same of a plan that is still open: how micro-batches divide its global batch is not checked.
Scenario load_open(const nlohmann::json& document, const std::filesystem::path& file,
                   const std::vector<Override>& overrides);

/// The same on a cluster that is given, whatever the file says of its own, and on `gpus` of its GPUs at most, from
/// which `data` is derived. Neither perturbations nor other jobs may be in the file. Throws Error.
Scenario load_on(const topology::ClusterSpec& cluster, std::uint32_t gpus, const std::filesystem::path& file,
                 const std::vector<Override>& overrides);

/// Only the cluster of a scenario, whatever the rest of the file says; it can be built. Throws Error.
topology::ClusterSpec load_cluster(const std::filesystem::path& file, const std::vector<Override>& overrides = {});
topology::ClusterSpec load_cluster(const nlohmann::json& document, const std::filesystem::path& file,
                                   const std::vector<Override>& overrides);

/// A preset with `--set cluster.KEY=VALUE`. Throws Error; topology::build() checks the rest.
topology::ClusterSpec preset_cluster(const std::string& preset, const std::vector<Override>& overrides = {});

/// The same as load from parsed JSON; `file` is for messages and for paths relative to it.
Scenario from_json(const nlohmann::json& document, const std::filesystem::path& file);

}  // namespace orrery::scenarios
