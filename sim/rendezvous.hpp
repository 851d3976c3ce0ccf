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

/// A transfer all of whose parties have come.
struct Meeting {
    double begin = 0;          ///< when the last party is ready
    std::array<Party, 2> two;  ///< of a message
    std::vector<Party> many;   ///< of a collective
    Transfer transfer;
    std::span<const LinkUse> uses;  ///< engine links
    double alone = 0;               ///< seconds if nothing else is on the wire

    [[nodiscard]] std::span<const Party> parties() const {
        return many.empty() ? std::span<const Party>(two) : std::span<const Party>(many);
    }
};

class Rendezvous {
public:
    Rendezvous(const Network& network, const Folding& folding);

    /// The party's class sends along a channel, or receives what another sent along it, or joins its group of a set.
    /// Numbers are those of the folding's traffic.
    std::optional<Meeting> send(std::uint32_t channel, std::uint64_t bytes, Party party);
    std::optional<Meeting> receive(std::uint32_t channel, std::uint64_t bytes, Party party);
    std::optional<Meeting> join(std::uint32_t set, const strategies::Collective& collective, strategies::Lane lane,
                                Party party);

private:
    static constexpr std::uint32_t nobody = 0xffffffff;
    struct Posted {
        Party sender{nobody, 0, 0}, receiver{nobody, 0, 0};
        std::uint64_t bytes = ~std::uint64_t{0};  ///< for which `transfer` holds
        Transfer transfer;
    };
    struct Cost {
        Transfer transfer;
        double alone;
    };
    std::optional<Meeting> meet(std::uint32_t message, std::uint64_t bytes);
    const Cost& cost(std::uint32_t group, const strategies::Collective& collective);

    const Network& network_;
    const Folding& folding_;
    std::vector<std::uint32_t> received_;      // [class][channel] -> message
    std::vector<Posted> messages_;             // by message
    std::vector<std::vector<Party>> waiting_;  // [group][lane]
    std::map<std::tuple<std::uint32_t, kernels::CollectiveKind, std::uint64_t>, Cost> costs_;
};

}  // namespace orrery::sim
