#include "sim/rendezvous.hpp"

#include <algorithm>

namespace orrery::sim {

double Meeting::begin() const {
    double latest = 0;
    for (const Party& party : parties) latest = std::max(latest, party.ready);
    return latest;
}

std::optional<Meeting> Rendezvous::send(const strategies::Send& send, Party party) {
    const std::pair where{party.who, Channel{send.axis, send.delta}};
    Posted& posted = messages_[where];
    posted.sender = party;
    return meet(where, posted, send.bytes);
}

std::optional<Meeting> Rendezvous::receive(const strategies::Recv& recv, Party party) {
    const std::uint32_t rank = folding_.classes[party.who].representative;
    const std::uint32_t sender = folding_.class_of[step_.mesh.peer(rank, recv.axis, recv.delta)];
    const std::pair where{sender, Channel{recv.axis, -recv.delta}};
    Posted& posted = messages_[where];
    posted.receiver = party;
    return meet(where, posted, recv.bytes);
}

std::optional<Meeting> Rendezvous::meet(std::pair<std::uint32_t, Channel> where, Posted& posted, std::uint64_t bytes) {
    if (!posted.sender || !posted.receiver) return std::nullopt;
    const MessageRoute& route = folding_.messages.at(where);
    Meeting meeting{{*posted.sender, *posted.receiver},
                    network_.message(route.from, route.to, static_cast<double>(bytes)),
                    &route.uses,
                    &route.alone};
    posted = {};
    return meeting;
}

const Transfer& Rendezvous::cost(std::uint32_t group, const strategies::Collective& collective) {
    const auto [place, fresh] = costs_.try_emplace({group, collective.kind, collective.bytes});
    const GroupRoute& route = folding_.groups[group];
    if (fresh)
        place->second =
            network_.collective(collective.kind, route.gpus, static_cast<double>(collective.bytes), route.alone);
    return place->second;
}

std::optional<Meeting> Rendezvous::join(const strategies::Collective& collective, strategies::Lane lane, Party party) {
    const std::uint32_t group = folding_.group_of.at({party.who, collective.group.bits()});
    auto& waiting = groups_[{group, lane}];
    waiting.push_back(party);
    if (waiting.size() < folding_.groups[group].classes.size()) return std::nullopt;
    const GroupRoute& route = folding_.groups[group];
    Meeting meeting{std::move(waiting), cost(group, collective), &route.uses, &route.alone};
    waiting.clear();
    return meeting;
}

}  // namespace orrery::sim
