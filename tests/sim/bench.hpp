// What tests of the simulator share: small scenarios and an engine on which nothing contends.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "calibrate/profile_store.hpp"
#include "scenarios/scenario.hpp"
#include "sim/engine.hpp"
#include "sim/predict.hpp"

namespace orrery::sim {

/// Shipped profiles, each read once a program.
calibrate::ProfileStore& profiles();

/// GPT of 8 layers, hidden 1024, 16 heads, on 2 nodes of a DGX A100 SuperPOD: tensor 2, pipeline 2, data 4, 1F1B, bf16,
/// 512 tokens, micro-batches of 1, eight a rank; changed by a JSON merge patch (RFC 7396).
scenarios::Scenario small_scenario(const std::string& patch = "{}");

/// The document of random_scenario() for a seed, with attention that the cluster's GPUs can run.
nlohmann::json random_document(std::uint64_t seed);
scenarios::Scenario scenario_of(const nlohmann::json& document);

/// Without advice and scale factor, which simulate other plans.
Prediction quick(const scenarios::Scenario& scenario);

/// Every flow at the rate it would have if it were alone.
std::unique_ptr<Engine> make_uncontended_engine(std::vector<double> capacity_bytes_per_second);

}  // namespace orrery::sim
