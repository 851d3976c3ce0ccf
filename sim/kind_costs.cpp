#include "sim/kind_costs.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace orrery::sim {

KindCosts::KindCosts(Costs costs) : first_rank_{0} { costs_.push_back(std::move(costs)); }

KindCosts::KindCosts(const strategies::StepProgram& step, const strategies::Plan& plan, const Network& network,
                     BesideCollectives beside, const Folding* folding) {
    constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    const Kinds& kinds = network.kinds();
    const std::uint32_t ranks = step.mesh.ranks();
    std::vector<std::uint32_t> first(kinds.size(), none);
    for (std::uint32_t rank = 0, missing = kinds.size(); rank < ranks && missing > 0; ++rank) {
        std::uint32_t& known = first[kinds.of(plan.placement.gpu(rank))];
        if (known != none) continue;
        known = rank;
        --missing;
    }
    std::vector<std::uint16_t> number_of_kind(kinds.size());
    for (std::uint32_t kind = 0; kind < kinds.size(); ++kind) {
        if (first[kind] == none) continue;
        number_of_kind[kind] = static_cast<std::uint16_t>(costs_.size());
        first_rank_.push_back(first[kind]);
        costs_.emplace_back(step, plan, kinds[kind].gpu, *kinds[kind].predictor, network, beside, folding, first[kind]);
    }
    if (costs_.size() == 1) return;
    number_.reserve(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        number_.push_back(number_of_kind[kinds.of(plan.placement.gpu(rank))]);
}

}  // namespace orrery::sim
