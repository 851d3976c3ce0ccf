// The points of a sweep: every combination of the values of some keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::planning {

/// The size of the cluster in GPUs: no key of a scenario, but one that can be varied.
inline constexpr std::string_view gpus_key = "gpus";
inline constexpr std::uint64_t most_points = 250'000;

/// One key and its values, as `--vary KEY=VALUES` names them.
struct Axis {
    std::string key;
    std::vector<std::string> values;
    bool operator==(const Axis&) const = default;
};

class Points {
public:
    /// name: of the scenario. Throws Error for a key that is varied twice, and for more than most_points points.
    Points(std::string name, std::vector<Axis> axes);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
    [[nodiscard]] std::uint64_t points() const { return points_; }
    /// Whether the number of GPUs is varied.
    [[nodiscard]] bool over_gpus() const;
    /// Of one point the value of each axis; the last axis varies fastest.
    [[nodiscard]] std::vector<std::string> values(std::uint64_t point) const;

private:
    std::string name_;
    std::vector<Axis> axes_;
    std::uint64_t points_ = 1;
};

}  // namespace orrery::planning
