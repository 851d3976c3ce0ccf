#include "planning/sweep/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "documents/message.hpp"

namespace orrery::planning {

Points::Points(std::string name, std::vector<Axis> axes) : name_(std::move(name)), axes_(std::move(axes)) {
    for (std::size_t i = 0; i < axes_.size(); ++i) {
        const auto same = [&](const Axis& other) { return other.key == axes_[i].key; };
        if (std::any_of(axes_.begin(), axes_.begin() + static_cast<std::ptrdiff_t>(i), same))
            throw Error(fmt::format("--vary {}", documents::printable(axes_[i].key)), "", "is varied twice",
                        "name all its values in one --vary");
        points_ *= axes_[i].values.size();
        if (points_ > most_points)
            throw Error(fmt::format("more than {} points", most_points),
                        "vary fewer keys or fewer values; `orrery search` goes through the plans of a cluster without "
                        "simulating each");
    }
}

bool Points::over_gpus() const {
    return std::ranges::any_of(axes_, [](const Axis& axis) { return axis.key == gpus_key && axis.values.size() > 1; });
}

std::vector<std::string> Points::values(std::uint64_t point) const {
    std::vector<std::string> list(axes_.size());
    for (std::size_t i = axes_.size(); i-- > 0;) {
        list[i] = axes_[i].values[point % axes_[i].values.size()];
        point /= axes_[i].values.size();
    }
    return list;
}

}  // namespace orrery::planning
