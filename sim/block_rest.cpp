#include "sim/block_rest.hpp"

#include <algorithm>

namespace orrery::sim {

using strategies::Op;

namespace {

double& part_of(Shares& shares, const strategies::StepProgram& step, const Op& op) {
    if (const auto* compute = std::get_if<strategies::Compute>(&op.what))
        return part_of(shares, share_of(step.kernels[compute->kernel]));
    const bool exchange = std::get<strategies::Collective>(op.what).exchanges_tokens();
    return exchange ? shares.expert_comm : shares.tensor_comm;
}

}  // namespace

std::vector<BlockRest> block_rests(const strategies::StepProgram& step, const Costs& costs, std::uint32_t block) {
    const std::vector<Op>& ops = step.blocks[block].ops;
    if (std::ranges::any_of(ops, [](const Op& op) { return op.lane != strategies::Lane::compute; })) return {};
    const std::vector<OpTime>& times = costs.block(block).ops;
    std::vector<BlockRest> rests(ops.size());
    BlockRest rest;
    for (std::size_t i = ops.size(); i-- > 0;) {
        rest.host += costs.hand_outs(block)[i].all;
        rest.device += times[i].seconds;
        part_of(rest.shares, step, ops[i]) += times[i].seconds;
        rests[i] = rest;
    }
    return rests;
}

}  // namespace orrery::sim
