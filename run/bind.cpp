#include "run/bind.hpp"

#include <utility>

namespace orrery::run {

Action in_order(std::vector<Action> actions) {
    return [actions = std::move(actions)](kernels::Stream stream) {
        for (const Action& action : actions) action(stream);
    };
}

Action Bind::launch(const kernels::Kernel& kernel, std::vector<void*> operands,
                    const kernels::Settings& settings) const {
    return [&on = device, kernel, operands = std::move(operands), settings](kernels::Stream stream) {
        on.launch(kernel, operands, stream, settings);
    };
}

Action Bind::copy(void* to, const void* from, std::uint64_t bytes) const {
    return [&on = device, to, from, bytes](kernels::Stream stream) {
        on.copy(kernels::CopyKind::device_to_device, to, from, bytes, stream);
    };
}

Action Bind::collective(const strategies::Collective& what, strategies::Lane lane, void* send, void* receive,
                        kernels::Dtype dtype, kernels::Reduction reduction) const {
    kernels::Communicator* const group = groups.of(what.group, lane);
    if (group == nullptr) {
        if (send == receive) return [](kernels::Stream) {};
        return copy(receive, send, what.bytes);
    }
    if (what.by == strategies::GradReduceCollective::all_reduce)
        return keep_part(*group, what, send, receive, dtype, reduction);
    return [group, what, send, receive, dtype, reduction](kernels::Stream stream) {
        group->run(what.kind, send, receive, what.bytes, dtype, stream, reduction);
    };
}

/// A reduce_scatter by an all_reduce: all sums where the terms were, of which each rank takes its part.
Action Bind::keep_part(kernels::Communicator& group, const strategies::Collective& what, void* send, void* receive,
                       kernels::Dtype dtype, kernels::Reduction reduction) const {
    const std::uint64_t bytes = what.bytes / group.ranks();
    const char* const part = static_cast<char*>(send) + group.rank() * bytes;
    return
        [&group, &on = device, send, part, receive, dtype, reduction, bytes, all = what.bytes](kernels::Stream stream) {
            group.run(kernels::CollectiveKind::all_reduce, send, send, all, dtype, stream, reduction);
            if (part != receive) on.copy(kernels::CopyKind::device_to_device, receive, part, bytes, stream);
        };
}

namespace {

std::uint32_t stage_of(const Place& place, std::uint32_t rank) {
    return place.mesh.coordinate(rank, strategies::Axis::pipeline);
}

}  // namespace

Action Bind::send(const strategies::Send& what, strategies::Lane lane, const void* from) const {
    const std::uint32_t peer = place.mesh.peer(place.rank, what.axis, what.delta);
    kernels::Communicator& group =
        groups.pipeline(lane == strategies::Lane::send_forward, place.stage(), stage_of(place, peer));
    return [&group, from, bytes = what.bytes, peer](kernels::Stream stream) { group.send(from, bytes, peer, stream); };
}

Action Bind::receive(const strategies::Recv& what, strategies::Lane lane, void* to) const {
    const std::uint32_t peer = place.mesh.peer(place.rank, what.axis, what.delta);
    kernels::Communicator& group =
        groups.pipeline(lane == strategies::Lane::recv_forward, stage_of(place, peer), place.stage());
    return [&group, to, bytes = what.bytes, peer](kernels::Stream stream) { group.receive(to, bytes, peer, stream); };
}

}  // namespace orrery::run
