// Who waits for whom: transfers begin when all their parties are there.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "sim/folding.hpp"

namespace orrery::sim {

/// One class of ranks at one operation of its program, ready at a time in seconds.
struct Party {
    std::uint32_t who, op;
    double ready;
};

/// A transfer all of whose parties have come. Valid until it has ended.
struct Meeting {
    double begin;  ///< when the last party is ready
    Transfer transfer;
    std::span<const LinkUse> uses;  ///< engine links
    double alone;                   ///< seconds if nothing else is on the wire
};

/// A transfer is known by the number of its message, or of its group and lane: there is never more than one of these
/// under way, because its parties wait for its end.
class Rendezvous {
public:
    using Number = std::uint32_t;

    Rendezvous(const Network& network, const Folding& folding, const strategies::StepProgram& step);

    /// The party's class sends along a channel, or receives what another sent along it, or joins its group of a set.
    /// Numbers are those of the folding's traffic. Nothing until the last party comes. Throws std::logic_error when
    /// the party's class is there already.
    std::optional<Number> send(std::uint32_t channel, std::uint64_t bytes, Party party);
    std::optional<Number> receive(std::uint32_t channel, std::uint64_t bytes, Party party);
    std::optional<Number> join(std::uint32_t set, const strategies::Collective& collective, strategies::Lane lane,
                               Party party);

    /// Whether the folding knows a group of the set that the class belongs to.
    [[nodiscard]] bool joins(std::uint32_t set, std::uint32_t who) const {
        return folding_.group(who, set) != Folding::none;
    }

    /// Of a transfer whose last party has come.
    [[nodiscard]] Meeting meeting(Number number) const;
    /// It has ended: gives its parties, and is ready for the next. Valid until the next call of this kind.
    [[nodiscard]] std::span<const Party> part(Number number);

private:
    static constexpr std::uint32_t nobody = 0xffffffff;
    struct Posted {
        std::array<Party, 2> parties{Party{nobody, 0, 0}, Party{nobody, 0, 0}};  // sender, receiver
        std::uint64_t bytes = ~std::uint64_t{0};                                 // for which `transfer` holds
        Transfer transfer;
    };
    struct Cost {
        Transfer transfer;
        double alone;
    };
    struct Gathering {
        std::vector<Party> parties;
        const Cost* cost = nullptr;      // of this kind and size
        kernels::CollectiveKind kind{};  // on the links
        std::uint64_t bytes = ~std::uint64_t{0};
        std::uint32_t once = 0;
    };
    std::optional<Number> meet(Number message, std::size_t side, std::uint64_t bytes, Party party);
    const Cost& cost(std::uint32_t group, const strategies::Collective& collective);

    const Network& network_;
    const Folding& folding_;
    const strategies::StepProgram& step_;
    std::vector<std::uint32_t> received_;  // [class][channel] -> message
    std::vector<Posted> messages_;         // by message
    std::vector<Gathering> gatherings_;    // [group][lane], numbered after the messages
    std::vector<Party> parted_;
    std::map<std::tuple<std::uint32_t, kernels::CollectiveKind, std::uint64_t, std::uint32_t>, Cost> costs_;
};

}  // namespace orrery::sim
