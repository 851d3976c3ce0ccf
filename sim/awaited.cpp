#include "sim/awaited.hpp"

namespace orrery::sim {

using strategies::BufferId;
using strategies::Lane;
using strategies::Op;

Traffics traffic_of(Lane lane) {
    switch (lane) {
        case Lane::tensor: return Traffics::tensor;
        case Lane::expert: return Traffics::experts;
        case Lane::send_forward:
        case Lane::recv_forward:
        case Lane::send_backward:
        case Lane::recv_backward:
        case Lane::send_forward_against:
        case Lane::recv_forward_against:
        case Lane::send_backward_against:
        case Lane::recv_backward_against: return Traffics::messages;
        case Lane::offload:
        case Lane::reload:
        case Lane::host:
        case Lane::read_storage:
        case Lane::write_storage: return Traffics::copies;
        default: return Traffics::data;
    }
}

void Awaited::issue(const Op& op, std::uint32_t index) {
    const auto traffic = static_cast<std::size_t>(traffic_of(op.lane));
    for (const BufferId id : program_.reads(op)) {
        if (const std::uint32_t writer = uses_[id].writer; writer != none)
            if (behind_copies_[writer] || traffic_of(program_.ops[writer].lane) == Traffics::copies)
                behind_copies_[index] = true;
        uses_[id].any = true;
        uses_[id].readers[traffic] = index;
    }
    for (const BufferId id : program_.writes(op)) uses_[id] = {.any = true, .writer = index};
}

Causes Awaited::wait(const Op& op) {
    Causes causes;
    for (const BufferId id : program_.reads(op)) wait_for(uses_[id].writer, causes);
    for (const BufferId id : program_.writes(op)) {
        if (!uses_[id].any) continue;
        wait_for(uses_[id].writer, causes);
        for (const std::uint32_t reader : uses_[id].readers) wait_for(reader, causes);
        uses_[id] = {};
    }
    return causes;
}

void Awaited::wait_for(std::uint32_t other, Causes& causes) {
    if (other == none) return;
    const Lane lane = program_.ops[other].lane;
    std::uint32_t& joined = joined_[static_cast<std::size_t>(lane)];
    if (other < joined) return;
    joined = other + 1;
    causes.add(traffic_of(lane));
    if (behind_copies_[other]) causes.add(Traffics::copies);
}

}  // namespace orrery::sim
