#include "sim/beside.hpp"

#include <algorithm>
#include <span>

namespace orrery::sim {

namespace {

using strategies::BufferId;
using strategies::Lane;
using strategies::Op;
using strategies::Program;

bool meet(std::span<const BufferId> some, std::span<const BufferId> others) {
    return std::ranges::any_of(some, [&](BufferId id) { return std::ranges::find(others, id) != others.end(); });
}

/// Whether one of the two writes what the other uses.
bool depend(const Program& program, const Op& earlier, const Op& later) {
    return meet(program.writes(earlier), program.reads(later)) ||
           meet(program.writes(earlier), program.writes(later)) || meet(program.reads(earlier), program.writes(later));
}

double Slowed::*cause(Lane lane) {
    switch (lane) {
        case Lane::tensor: return &Slowed::tensor;
        case Lane::expert: return &Slowed::experts;
        case Lane::offload:
        case Lane::reload: return &Slowed::copies;
        default: return &Slowed::data;
    }
}

}  // namespace

std::vector<Beginning> beginnings_among_data_ranks(const Program& program) {
    std::vector<Beginning> list;
    // By buffer, the number of the first operation that may read it, or write it.
    std::vector<std::uint32_t> readable(program.buffers.size(), 0), writable(program.buffers.size(), 0);
    std::uint32_t lane = 0;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const Op& op = program.ops[i];
        if (std::holds_alternative<strategies::HostSync>(op.what)) lane = i + 1;
        std::uint32_t behind = i + 1;
        if (strategies::among_data_ranks(op.lane)) {
            for (const BufferId id : program.reads(op)) lane = std::max(lane, readable[id]);
            for (const BufferId id : program.writes(op)) lane = std::max(lane, writable[id]);
            if (std::holds_alternative<strategies::Collective>(op.what)) list.push_back({i, lane});
            behind = lane;
        }
        for (const BufferId id : program.reads(op)) writable[id] = std::max(writable[id], behind);
        for (const BufferId id : program.writes(op)) readable[id] = writable[id] = behind;
    }
    return list;
}

void Beside::begin(const Program& program, const Op& op, double seconds, Contention lost) {
    if (seconds > 0) running_.push_back({&program, &op, seconds, lost});
}

/// A lane ends its operations in order, so with one have all before it.
void Beside::wait(const Program& program, const Op& op) {
    for (std::size_t i = running_.size(); i-- > 0;) {
        if (running_[i].program != &program || !depend(program, *running_[i].op, op)) continue;
        const Lane lane = running_[i].op->lane;
        const auto after = running_.begin() + static_cast<std::ptrdiff_t>(i) + 1;
        const auto kept = std::remove_if(running_.begin(), after, [&](const Running& r) { return r.op->lane == lane; });
        i = static_cast<std::size_t>(kept - running_.begin());
        running_.erase(kept, after);
    }
}

std::vector<double> Beside::left() const {
    std::vector<double> seconds;
    for (const Running& running : running_) seconds.push_back(running.left);
    return seconds;
}

/// What is lost of so many seconds beside something: first its own layer's collectives, then exchanges of tokens, data,
/// copies.
Slowed Beside::share(double seconds, double Contention::*lost) {
    Slowed shared;
    for (const auto of : {&Slowed::tensor, &Slowed::experts, &Slowed::data, &Slowed::copies})
        for (Running& running : running_) {
            if (cause(running.op->lane) != of) continue;
            const double now = std::min(running.left, seconds);
            running.left -= now;
            seconds -= now;
            shared.*of += running.lost.*lost * now;
        }
    std::erase_if(running_, [](const Running& running) { return running.left <= 0; });
    return shared;
}

}  // namespace orrery::sim
