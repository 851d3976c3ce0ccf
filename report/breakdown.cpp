#include "report/breakdown.hpp"

#include <algorithm>
#include <iterator>

namespace orrery::report {

std::string_view title_of(const Category& category, const strategies::Strategy& strategy) {
    if (category.seconds != &sim::Breakdown::tensor_comm || strategy.context == 1) return category.title;
    return strategy.tensor == 1 ? "CP comm" : "TP, CP comm";
}

std::size_t bounding_stage(const std::vector<sim::Breakdown>& stages) {
    const auto least = std::ranges::min_element(stages, {}, &sim::Breakdown::bubble);
    return stages.empty() ? 0 : static_cast<std::size_t>(std::distance(stages.begin(), least));
}

}  // namespace orrery::report
