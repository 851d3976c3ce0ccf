// What a replayed trace took: text, rows and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/records.hpp"
#include "sim/graph_replay.hpp"
#include "strategies/step_graph.hpp"

namespace orrery::report {

/// What was replayed where.
struct GraphOrigin {
    std::string trace;  ///< what the names of its files begin with
    std::string cluster, profile;
    std::uint32_t gpus = 0;  ///< of the cluster
    std::string dtype;       ///< of work
};

std::string graph_text(const GraphOrigin& origin, const strategies::StepGraph& step, const sim::GraphReplayed& ran);
/// A row a rank.
Records graph_ranks(const strategies::StepGraph& step, const sim::GraphReplayed& ran);
nlohmann::ordered_json graph_json(const GraphOrigin& origin, const strategies::StepGraph& step,
                                  const sim::GraphReplayed& ran);

}  // namespace orrery::report
