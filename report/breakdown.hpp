// The categories of a step's time, in the order and under the names that every report uses.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "sim/step.hpp"
#include "strategies/plan.hpp"

namespace orrery::report {

struct Category {
    std::string_view key;             ///< in JSON
    std::string_view title;           ///< in tables
    double sim::Breakdown::*seconds;  ///< the member of a stage's breakdown
};

inline constexpr std::array<Category, 11> categories{{
    {"gemm", "GEMM", &sim::Breakdown::gemm},
    {"attention", "attention", &sim::Breakdown::attention},
    {"memory_bound", "memory-bound", &sim::Breakdown::memory_bound},
    {"tensor_comm", "TP comm", &sim::Breakdown::tensor_comm},
    {"expert_comm", "EP comm", &sim::Breakdown::expert_comm},
    {"pipeline_comm", "PP exposed", &sim::Breakdown::pipeline_comm},
    {"data_comm", "DP exposed", &sim::Breakdown::data_comm},
    {"offload", "copies exposed", &sim::Breakdown::offload},
    {"optimizer", "optimizer", &sim::Breakdown::optimizer},
    {"launch", "host", &sim::Breakdown::launch},
    {"bubble", "bubble", &sim::Breakdown::bubble},
}};

/// What a step's tables and pages call it in a plan: the communication of tensor ranks is also that of context ranks,
/// where there are any.
std::string_view title_of(const Category& category, const strategies::Strategy& strategy);

/// The stage that bounds the step: the one that waits least for the others; the first of equals. 0 when there are
/// no stages.
std::size_t bounding_stage(const std::vector<sim::Breakdown>& stages);

}  // namespace orrery::report
