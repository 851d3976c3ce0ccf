// A scenario and the keys that a sweep varies: every combination of their values is a point.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "planning/sweep/points.hpp"
#include "scenarios/cluster_size.hpp"
#include "scenarios/request.hpp"

namespace orrery::planning {

/// "strategy.tensor=1..8 x2". Throws Error that names the option for an unknown key and for what is no list of values.
Axis parse_axis(const std::string& text);
/// "512,1024" or "512..2048", powers of two where a range has no step. Throws Error that names the option.
Axis gpus_axis(const std::string& option, const std::string& text);

/// keys: that are varied or held, by option ("--vary", "cluster.nodes"). Throws Error where `gpus` is one of them and
/// the cluster's size is said otherwise, too.
void require_one_size(const scenarios::Request& request,
                      const std::vector<std::pair<std::string_view, std::string>>& keys);

class Grid : public Points {
public:
    /// file: of a scenario. Throws Error when it cannot be read, for a key that is varied twice, and for more than
    /// most_points points.
    Grid(const std::filesystem::path& file, std::vector<scenarios::Override> set, std::vector<Axis> axes);
    /// The same of a scenario that is at hand; `file`: for messages and for paths relative to it.
    Grid(const std::filesystem::path& file, nlohmann::json document, std::vector<scenarios::Override> set,
         std::vector<Axis> axes);

    /// As it is asked for; vary: texts of axes. Throws Error.
    Grid(const scenarios::Request& request, const std::vector<std::string>& vary);

    /// Where sizes of the plan or of the cluster are varied, data ranks fill the cluster, unless the question says how
    /// many there are. Throws Error for a point that is no legal scenario.
    [[nodiscard]] scenarios::Scenario scenario(std::uint64_t point) const;
    /// The same with its plan left open: `more` is said last, and the cluster is not filled. Throws Error.
    [[nodiscard]] scenarios::Scenario open_scenario(std::uint64_t point,
                                                    const std::vector<scenarios::Override>& more) const;
    /// GPUs that a point's value of `gpus` names; 0: it is not varied.
    [[nodiscard]] std::uint32_t gpus(std::uint64_t point) const;
    /// All that is changed in the scenario's file, as `--set` says it, but for the data ranks that fill its cluster.
    /// Throws Error.
    [[nodiscard]] std::vector<scenarios::Override> changes(std::uint64_t point) const;
    /// Of all that decides what comes of the points.
    [[nodiscard]] std::string fingerprint() const;

private:
    Grid(const scenarios::Request& request, nlohmann::json document, std::vector<Axis> axes);
    [[nodiscard]] scenarios::ClusterSize size(const std::vector<scenarios::Override>& changes) const;
    void fill(std::vector<scenarios::Override>& changes, std::uint32_t gpus) const;

    std::filesystem::path file_;
    std::shared_ptr<const nlohmann::json> document_;
    std::vector<scenarios::Override> set_;
};

}  // namespace orrery::planning
