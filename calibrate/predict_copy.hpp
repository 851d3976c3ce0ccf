// Copies between a device and its host: measured sweeps, monotone in bytes.
#pragma once

#include <map>
#include <optional>

#include "calibrate/interpolate.hpp"
#include "calibrate/predictor.hpp"

namespace orrery::calibrate {

class CopyPredictor {
public:
    explicit CopyPredictor(const Profile& profile);
    /// Nothing where the profile has no table of the kind: published tables have none.
    [[nodiscard]] std::optional<Estimate> estimate(kernels::CopyKind kind, double bytes) const;

private:
    std::map<kernels::CopyKind, Sweep> kinds_;
};

}  // namespace orrery::calibrate
