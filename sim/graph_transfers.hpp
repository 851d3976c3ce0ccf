// Messages and collectives of a step that is a graph of nodes: who has come to them, and what they cost.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/graph_replay.hpp"
#include "sim/network.hpp"

namespace orrery::sim {

class GraphTransfers {
public:
    using Number = std::uint32_t;
    struct Party {
        std::uint32_t rank, node;
        double ready;  ///< when it came
    };
    struct Cost {
        Transfer transfer;
        double alone = 0;
        std::uint32_t use = 0;  ///< of uses()
    };
    /// One that some have come to, or that is under way.
    struct Meeting {
        std::vector<Party> parties;
        const Cost* cost = nullptr;
        std::span<const LinkUse> links = {};
        std::span<const topology::GpuId> gpus = {};  ///< of a collective's group, ascending
        std::uint32_t group = 0;  ///< none of a message
        double begin = 0;
        bool collective = false;
    };

    GraphTransfers(const strategies::StepGraph& step, const Network& network);

    /// A rank comes to a node that communicates, at party.ready. What may begin by it.
    std::optional<Number> post(const strategies::GraphNode& node, const Party& party);
    /// One that may begin does so now.
    void begin(Number number, double now);
    [[nodiscard]] const Meeting& meeting(Number number) const { return meetings_[number]; }
    /// One that has ended; its number may stand for another from now on. What may begin by it.
    std::optional<Number> end(Number number, double now);

    /// Of the profile of what was transferred, those that took longest in all first.
    [[nodiscard]] std::vector<TransferUse> uses() const;
    /// A party that waits for the others, of the lowest rank; for errors.
    [[nodiscard]] std::optional<Party> stuck() const;
    /// Ranks that a party's transfer waits for.
    [[nodiscard]] std::vector<std::uint32_t> missing(const Party& party) const;

private:
    static constexpr std::uint32_t no_group = ~std::uint32_t{0};

    struct Group {
        std::vector<topology::GpuId> gpus;
        std::vector<LinkUse> links, alone;
        std::uint32_t nodes = 0;
        bool busy = false;
        std::deque<Number> complete;                          ///< that wait for the one under way
        std::unordered_map<std::uint32_t, Number> gathering;  ///< by turn
        std::map<std::pair<kernels::CollectiveKind, double>, Cost> costs;
    };
    struct Way {
        std::vector<LinkUse> links;
        std::map<std::uint64_t, Cost> costs;  ///< by bytes
    };
    struct MessageKey {
        std::uint32_t from, to, tag, turn;
        auto operator<=>(const MessageKey&) const = default;
    };
    struct HashMessage {
        std::size_t operator()(const MessageKey& key) const {
            std::uint64_t value = std::uint64_t{key.from} << 32U | key.to;
            value = value * 0x9e3779b97f4a7c15U + (std::uint64_t{key.tag} << 32U | key.turn);
            return static_cast<std::size_t>(value * 0x9e3779b97f4a7c15U ^ value >> 29U);
        }
    };

    std::optional<Number> join(const strategies::GraphNode& node, const Party& party);
    std::optional<Number> meet(const strategies::GraphNode& node, const Party& party);
    Number fresh();
    void set_out(Group& group, std::uint32_t number);
    const Cost& cost(Group& group, kernels::CollectiveKind kind, double bytes);
    const Cost& cost(Way& way, const MessageKey& key, std::uint64_t bytes);
    std::uint32_t use(const TransferUse& like);

    const strategies::StepGraph& step_;
    const Network& network_;
    std::vector<Group> groups_;
    std::vector<bool> contends_;                   // by group
    std::unordered_map<std::uint64_t, Way> ways_;  // by both ends
    std::unordered_map<MessageKey, Number, HashMessage> met_;
    std::vector<Meeting> meetings_;
    std::vector<Number> free_;
    std::map<std::tuple<kernels::CollectiveKind, std::uint32_t, std::uint32_t, double>, std::uint32_t> use_number_;
    std::vector<TransferUse> uses_;
};

}  // namespace orrery::sim
