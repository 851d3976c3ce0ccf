// When each flow under way will end, which changes with its rate.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/moments.hpp"

namespace orrery::sim {

/// Flows of one moment form a ring.
class EndQueue {
public:
    /// Seconds until the first end; infinity when there is none.
    [[nodiscard]] double next() const { return moments_.next(); }

    [[nodiscard]] bool has(std::uint32_t flow) const { return flow < flows_.size() && flows_[flow].moment != none; }

    /// Sets or changes the end of a flow.
    void set(std::uint32_t flow, double at) {
        if (flows_.size() <= flow) flows_.resize(flow + 1);
        if (flows_[flow].moment != none) {
            if (flows_[flow].next == flow) return moments_.move(flows_[flow].moment, at);
            leave(flow);
        }
        join(flow, moments_.at(at));
    }

    /// Removes one flow that has an end.
    void remove(std::uint32_t flow) {
        const std::uint32_t moment = flows_[flow].moment;
        if (flows_[flow].next == flow) {
            first_[moment] = none;
            moments_.remove(moment);
        } else {
            leave(flow);
        }
        flows_[flow].moment = none;
    }

    /// Removes all of the first moment and appends them to `flows`, in the order in which they came to it.
    void take(std::vector<std::uint32_t>& flows) {
        const std::uint32_t moment = moments_.first(), first = first_[moment];
        std::uint32_t flow = first;
        do {
            flows.push_back(flow);
            flows_[flow].moment = none;
            flow = flows_[flow].next;
        } while (flow != first);
        first_[moment] = none;
        moments_.remove(moment);
    }

private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    struct Member {
        std::uint32_t moment = none, next = none, previous = none;
    };

    void join(std::uint32_t flow, std::uint32_t moment) {
        first_.resize(moments_.size(), none);
        std::uint32_t& first = first_[moment];
        if (first == none) {
            first = flow;
            flows_[flow] = {moment, flow, flow};
            return;
        }
        const std::uint32_t last = flows_[first].previous;
        flows_[flow] = {moment, first, last};
        flows_[last].next = flows_[first].previous = flow;
    }
    /// Of a moment with other flows.
    void leave(std::uint32_t flow) {
        const Member member = flows_[flow];
        flows_[member.previous].next = member.next;
        flows_[member.next].previous = member.previous;
        if (first_[member.moment] == flow) first_[member.moment] = member.next;
    }

    Moments moments_;
    std::vector<std::uint32_t> first_;  // of each moment
    std::vector<Member> flows_;
};

}  // namespace orrery::sim
