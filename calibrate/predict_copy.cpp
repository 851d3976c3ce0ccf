#include "calibrate/predict_copy.hpp"

#include <utility>

namespace orrery::calibrate {

CopyPredictor::CopyPredictor(const Profile& profile) {
    for (const CopyTable& table : profile.copies) {
        std::vector<double> bytes, seconds;
        for (const CollectivePoint& point : table.points) {
            bytes.push_back(point.bytes);
            seconds.push_back(point.seconds);
        }
        kinds_.emplace(table.kind, Sweep(std::move(bytes), std::move(seconds)));
    }
}

/// Below the sweep: its first time (latency). Above: constant bandwidth.
std::optional<Estimate> CopyPredictor::estimate(kernels::CopyKind kind, double bytes) const {
    const auto found = kinds_.find(kind);
    if (found == kinds_.end()) return std::nullopt;
    const Sweep& sweep = found->second;
    const double low = sweep.first_bytes(), high = sweep.last_bytes();
    const double beyond = bytes > high ? bytes / high : 1.0;
    return Estimate{sweep.at(bytes) * beyond, bytes < low || bytes > high};
}

}  // namespace orrery::calibrate
