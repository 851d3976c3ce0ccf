#include "sim/rendezvous.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace orrery::sim {

Rendezvous::Rendezvous(const Network& network, const Folding& folding, const strategies::StepProgram& step)
    : network_(network),
      folding_(folding),
      step_(step),
      messages_(folding.messages.size()),
      gatherings_(folding.groups.size() * strategies::lanes) {
    const Traffic& traffic = folding.traffic;
    received_.reserve(folding.classes.size() * traffic.channels.size());
    for (const RankClass& rank : folding.classes)
        for (std::uint32_t channel = 0; channel < traffic.channels.size(); ++channel) {
            const Channel& from = traffic.channels[channel];
            const std::uint32_t sender = traffic.mesh.peer(rank.representative, from.axis, -from.delta);
            received_.push_back(folding.message(folding.class_of[sender], channel));
        }
}

std::optional<Rendezvous::Number> Rendezvous::send(std::uint32_t channel, std::uint64_t bytes, Party party) {
    return meet(folding_.message(party.who, channel), 0, bytes, party);
}

/// Where nobody sends there is no meeting, and the replay will say that the operation never ends.
std::optional<Rendezvous::Number> Rendezvous::receive(std::uint32_t channel, std::uint64_t bytes, Party party) {
    if (channel == Folding::none) return std::nullopt;
    const std::uint32_t message = received_[party.who * folding_.traffic.channels.size() + channel];
    if (message == Folding::none) return std::nullopt;
    return meet(message, 1, bytes, party);
}

std::optional<Rendezvous::Number> Rendezvous::meet(Number message, std::size_t side, std::uint64_t bytes, Party party) {
    Posted& posted = messages_[message];
    if (posted.parties[side].who != nobody) throw std::logic_error("two transfers at once along one channel");
    posted.parties[side] = party;
    if (posted.parties[1 - side].who == nobody) return std::nullopt;
    if (posted.bytes != bytes) {
        const MessageRoute& route = folding_.messages[message];
        posted.transfer = network_.message(route.from, route.to, static_cast<double>(bytes));
        posted.bytes = bytes;
    }
    return message;
}

const Rendezvous::Cost& Rendezvous::cost(std::uint32_t group, const strategies::Collective& collective) {
    const auto [place, fresh] = costs_.try_emplace({group, collective.on_links(), collective.bytes, collective.once});
    if (fresh) {
        const GroupRoute& route = folding_.groups[group];
        Cost& cost = place->second;
        cost.transfer = network_.collective(collective.on_links(), route.gpus, static_cast<double>(collective.bytes),
                                            route.alone, step_.once_a_node(collective));
        cost.alone = network_.alone(cost.transfer, route.alone);
    }
    return place->second;
}

std::optional<Rendezvous::Number> Rendezvous::join(std::uint32_t set, const strategies::Collective& collective,
                                                   strategies::Lane lane, Party party) {
    const std::uint32_t group = folding_.group(party.who, set);
    const std::size_t number = group * strategies::lanes + static_cast<std::size_t>(lane);
    Gathering& gathering = gatherings_[number];
    if (gathering.parties.size() >= folding_.groups[group].classes.size())
        throw std::logic_error("two collectives at once of one group in one lane");
    gathering.parties.push_back(party);
    if (gathering.parties.size() < folding_.groups[group].classes.size()) return std::nullopt;
    if (gathering.kind != collective.on_links() || gathering.bytes != collective.bytes ||
        gathering.once != collective.once) {
        gathering.cost = &cost(group, collective);
        gathering.kind = collective.on_links();
        gathering.bytes = collective.bytes;
        gathering.once = collective.once;
    }
    return static_cast<Number>(messages_.size() + number);
}

Meeting Rendezvous::meeting(Number number) const {
    if (number < messages_.size()) {
        const Posted& posted = messages_[number];
        // A message that uses no link stays inside a node, where the latency is all.
        return {std::max(posted.parties[0].ready, posted.parties[1].ready), posted.transfer,
                folding_.uses_of(folding_.messages[number]), posted.transfer.latency};
    }
    const Gathering& gathering = gatherings_[number - messages_.size()];
    double begin = 0;
    for (const Party& each : gathering.parties) begin = std::max(begin, each.ready);
    return {begin, gathering.cost->transfer,
            folding_.uses_of(folding_.groups[(number - messages_.size()) / strategies::lanes]), gathering.cost->alone};
}

std::span<const Party> Rendezvous::part(Number number) {
    parted_.clear();
    if (number < messages_.size()) {
        auto& parties = messages_[number].parties;
        parted_.assign(parties.begin(), parties.end());
        for (Party& each : parties) each.who = nobody;
    } else {
        std::swap(parted_, gatherings_[number - messages_.size()].parties);
    }
    return parted_;
}

}  // namespace orrery::sim
