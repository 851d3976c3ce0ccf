// NCCL's description of a node. One that is accepted has a way between any two GPUs, and is the same when written and
// read again.
#include "topology/nccl_xml.hpp"

#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

namespace {

constexpr int sm = 80;

/// What there is a way for, GPU by GPU.
void require_ways(const topology::NodePlan& plan) {
    for (std::uint32_t from = 0; from < plan.gpus(); ++from) {
        require(plan.nics() == 0 || plan.nic_of(from) < plan.nics(), "a GPU sends through a NIC that there is");
        for (std::uint32_t to = 0; to < plan.gpus(); ++to)
            require(from == to || !plan.gpu_to_gpu(from, to).empty(), "there is a way between any two GPUs");
    }
}

}  // namespace

bool nccl_xml(const std::string& input) {
    topology::NcclNode node{topology::NodePlan(1, 1)};
    if (!accepts("topo.xml", [&] { node = topology::parse_nccl_xml(input, "topo.xml"); })) return false;
    require_ways(node.plan);
    std::string text;
    try {
        text = topology::to_nccl_xml(node.plan, node.nic_bytes_per_second, sm);
    } catch (const Error&) {
        return true;  // a node without what the format needs
    }
    const topology::NcclNode again = topology::parse_nccl_xml(text, "again.xml");
    require(again.plan.gpus() == node.plan.gpus() && again.plan.nics() == node.plan.nics(),
            "a node that was written has its GPUs and NICs again");
    require_ways(again.plan);
    return true;
}

}  // namespace orrery::fuzz
