// One rank of a scenario's step, predicted to be explained.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "calibrate/profile_store.hpp"
#include "report/device.hpp"
#include "report/records.hpp"
#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"
#include "topology/cluster.hpp"

namespace orrery::report {

class RankView {
public:
    /// Predicts the scenario, which must outlive it. Throws Error for whatever makes it impossible, and when there is
    /// no such rank.
    RankView(const scenarios::Scenario& scenario, std::uint32_t rank);

    /// As explain() in explain.hpp says.
    [[nodiscard]] const std::string& text() const { return text_; }
    /// As explained() in explain.hpp says.
    [[nodiscard]] Records table() const;
    /// {scenario, rank, step_time_s, roof: {gpu, format, flops_per_second, bytes_per_second}, kernels: [...]}, both as
    /// html/kernel_list.hpp has them.
    [[nodiscard]] nlohmann::ordered_json json() const;

private:
    [[nodiscard]] Device device() const;

    const scenarios::Scenario& scenario_;
    std::uint32_t rank_;
    calibrate::ProfileStore profiles_;
    sim::Prediction prediction_;
    topology::Cluster cluster_;
    const topology::Gpu* gpu_;
    const topology::NodePlan* node_;
    const calibrate::Predictor* predictor_;
    std::string text_;
};

}  // namespace orrery::report
