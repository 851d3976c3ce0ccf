// Who waits for whom: transfers begin when all their parties are there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
    std::vector<Party> parties;
    Transfer transfer;
    const std::vector<LinkUse>* uses = nullptr;   ///< engine links
    const std::vector<LinkUse>* alone = nullptr;  ///< cluster links of one member
    [[nodiscard]] double begin() const;
};

class Rendezvous {
public:
    Rendezvous(const strategies::StepProgram& step, const Network& network, const Folding& folding)
        : step_(step), network_(network), folding_(folding) {}

    std::optional<Meeting> send(const strategies::Send& send, Party party);
    std::optional<Meeting> receive(const strategies::Recv& recv, Party party);
    std::optional<Meeting> join(const strategies::Collective& collective, strategies::Lane lane, Party party);

private:
    struct Posted {
        std::optional<Party> sender, receiver;
    };
    std::optional<Meeting> meet(std::pair<std::uint32_t, Channel> where, Posted& posted, std::uint64_t bytes);
    const Transfer& cost(std::uint32_t group, const strategies::Collective& collective);

    const strategies::StepProgram& step_;
    const Network& network_;
    const Folding& folding_;
    std::map<std::pair<std::uint32_t, Channel>, Posted> messages_;
    std::map<std::pair<std::uint32_t, strategies::Lane>, std::vector<Party>> groups_;
    std::map<std::tuple<std::uint32_t, kernels::CollectiveKind, std::uint64_t>, Transfer> costs_;
};

}  // namespace orrery::sim
