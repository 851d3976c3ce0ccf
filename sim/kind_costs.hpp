// Costs of a step on every kind of GPU that its ranks run on.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/costs.hpp"

namespace orrery::sim {

class KindCosts {
public:
    /// One kind for all ranks.
    KindCosts(Costs costs);
    /// Of the network's kinds those on which ranks run, in the order of kinds; the rest as for Costs.
    KindCosts(const strategies::StepProgram& step, const strategies::Plan& plan, const Network& network,
              BesideCollectives beside, const Folding* folding);

    [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(costs_.size()); }
    [[nodiscard]] const Costs& operator[](std::uint32_t number) const { return costs_[number]; }
    /// Number of the costs of a rank.
    [[nodiscard]] std::uint32_t number(std::uint32_t rank) const { return number_.empty() ? 0 : number_[rank]; }
    [[nodiscard]] const Costs& of_rank(std::uint32_t rank) const { return costs_[number(rank)]; }
    /// A rank that they are the costs of, the first.
    [[nodiscard]] std::uint32_t first_rank(std::uint32_t number) const { return first_rank_[number]; }

private:
    std::vector<Costs> costs_;
    std::vector<std::uint32_t> first_rank_;
    std::vector<std::uint16_t> number_;  // by rank; empty: one for all
};

}  // namespace orrery::sim
