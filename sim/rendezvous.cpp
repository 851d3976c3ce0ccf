#include "sim/rendezvous.hpp"

#include <algorithm>

namespace orrery::sim {

Rendezvous::Rendezvous(const Network& network, const Folding& folding)
    : network_(network),
      folding_(folding),
      messages_(folding.messages.size()),
      waiting_(folding.groups.size() * strategies::lanes) {
    const Traffic& traffic = folding.traffic;
    received_.reserve(folding.classes.size() * traffic.channels.size());
    for (const RankClass& rank : folding.classes)
        for (std::uint32_t channel = 0; channel < traffic.channels.size(); ++channel) {
            const auto& [axis, delta] = traffic.channels[channel];
            const std::uint32_t sender = traffic.mesh.peer(rank.representative, axis, -delta);
            received_.push_back(folding.message(folding.class_of[sender], channel));
        }
}

std::optional<Meeting> Rendezvous::send(std::uint32_t channel, std::uint64_t bytes, Party party) {
    const std::uint32_t message = folding_.message(party.who, channel);
    messages_[message].sender = party;
    return meet(message, bytes);
}

/// Where nobody sends there is no meeting, and the replay will say that the operation never ends.
std::optional<Meeting> Rendezvous::receive(std::uint32_t channel, std::uint64_t bytes, Party party) {
    if (channel == Folding::none) return std::nullopt;
    const std::uint32_t message = received_[party.who * folding_.traffic.channels.size() + channel];
    if (message == Folding::none) return std::nullopt;
    messages_[message].receiver = party;
    return meet(message, bytes);
}

std::optional<Meeting> Rendezvous::meet(std::uint32_t message, std::uint64_t bytes) {
    Posted& posted = messages_[message];
    if (posted.sender.who == nobody || posted.receiver.who == nobody) return std::nullopt;
    const MessageRoute& route = folding_.messages[message];
    if (posted.bytes != bytes) {
        posted.transfer = network_.message(route.from, route.to, static_cast<double>(bytes));
        posted.bytes = bytes;
    }
    // A message that uses no link stays inside a node, where the latency is all.
    Meeting meeting{std::max(posted.sender.ready, posted.receiver.ready),
                    {posted.sender, posted.receiver},
                    {},
                    posted.transfer,
                    folding_.uses_of(route),
                    posted.transfer.latency};
    posted.sender.who = posted.receiver.who = nobody;
    return meeting;
}

const Rendezvous::Cost& Rendezvous::cost(std::uint32_t group, const strategies::Collective& collective) {
    const auto [place, fresh] = costs_.try_emplace({group, collective.kind, collective.bytes});
    if (fresh) {
        const GroupRoute& route = folding_.groups[group];
        Cost& cost = place->second;
        cost.transfer =
            network_.collective(collective.kind, route.gpus, static_cast<double>(collective.bytes), route.alone);
        cost.alone = network_.alone(cost.transfer, route.alone);
    }
    return place->second;
}

std::optional<Meeting> Rendezvous::join(std::uint32_t set, const strategies::Collective& collective,
                                        strategies::Lane lane, Party party) {
    const std::uint32_t group = folding_.group(party.who, set);
    auto& waiting = waiting_[group * strategies::lanes + static_cast<std::size_t>(lane)];
    waiting.push_back(party);
    if (waiting.size() < folding_.groups[group].classes.size()) return std::nullopt;
    const Cost& known = cost(group, collective);
    double begin = 0;
    for (const Party& each : waiting) begin = std::max(begin, each.ready);
    Meeting meeting{begin,      {}, std::move(waiting), known.transfer, folding_.uses_of(folding_.groups[group]),
                    known.alone};
    waiting.clear();
    return meeting;
}

}  // namespace orrery::sim
