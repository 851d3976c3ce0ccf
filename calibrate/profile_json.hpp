// The JSON form of a profile: tables as columns, a full GEMM grid as its axes and a list of times.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// Throws Error with the pointer of what is missing or of the wrong type; no check of values.
Profile profile_from(const nlohmann::json& document);

/// Four significant digits a time; equal profiles give equal text.
std::string to_json_text(const Profile& profile);

}  // namespace orrery::calibrate
