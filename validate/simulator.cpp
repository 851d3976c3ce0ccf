// The real predictor behind validation.
#include <algorithm>
#include <memory>

#include "calibrate/predict_collective.hpp"
#include "calibrate/profile_store.hpp"
#include "sim/allocator.hpp"
#include "sim/predict.hpp"
#include "validate/run.hpp"

namespace orrery::validate {

namespace {

/// A profile of nothing but one table.
double seconds_from(const calibrate::CollectiveTable& table, double bytes) {
    calibrate::Profile profile;
    profile.name = "held-out sizes";
    profile.collectives = {table};
    return calibrate::CollectivePredictor(profile).estimate(table.kind, table.ranks, bytes).seconds;
}

}  // namespace

Predictor simulator(bool held_out) {
    const auto profiles = std::make_shared<calibrate::ProfileStore>();  // every profile is read once
    Predictor predictor;
    predictor.step = [profiles](const scenarios::Scenario& scenario) {
        return sim::predict(scenario, *profiles, {.scale_factor = false, .advice = false, .allocator = false});
    };
    predictor.reserved = [](const scenarios::Scenario& scenario, sim::MemoryUse& use) {
        sim::add_allocator(use, scenario.plan);
    };
    predictor.collective = [profiles](const topology::ClusterSpec& cluster, const std::string& profile,
                                      kernels::CollectiveKind kind, std::uint32_t ranks, double bytes) {
        return sim::collective_seconds(cluster, profile, kind, ranks, bytes, *profiles);
    };
    predictor.has_profile = [shipped = calibrate::ProfileStore::shipped()](const std::string& profile) {
        return std::ranges::binary_search(shipped, profile);
    };
    if (held_out) predictor.calibrated = seconds_from;
    return predictor;
}

}  // namespace orrery::validate
