// A role's program, laid out for the replay: what is the same for all ranks of the role is worked out once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

#include "sim/kind_costs.hpp"
#include "sim/slots.hpp"
#include "sim/traffic.hpp"

namespace orrery::sim {

/// The host issues operations in program order and never waits but for host syncs, so its time before an operation is
/// the time at which it passed the last sync (its segment's start) and a sum that no rank changes. Only the ends that
/// another lane waits for need to be kept, and only until all have read them: those have slots.
struct Tape {
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    enum class Kind : std::uint8_t { local, send, receive, collective, sync };

    /// Seconds; host times count from the segment's start.
    struct Op {
        double issue = 0;   ///< host time at which it can begin at the soonest; of a sync, at which the host gets there
        double device = 0;  ///< from its begin to its end
        double done = 0;    ///< host time at which it can end at the soonest, its host being slow
        const strategies::What* what = nullptr;
        std::uint32_t place = none;  ///< lane and number in it (Place)
        std::uint32_t slot = none;   ///< of its end; none: nobody waits for it
        std::uint32_t start = 0;     ///< slot of its segment's start
        std::uint32_t segment = 0;
        std::uint32_t first_wait = 0, waits = 0;  ///< in `waits`
        std::uint32_t route = none;               ///< channel (of the sender) or set, by the traffic's numbers
        Kind kind = Kind::local;
        bool routed = false;  ///< as its label says

        [[nodiscard]] std::size_t lane() const { return Place::lane(place); }
    };
    struct Wait {
        std::uint32_t place, slot;
    };

    std::vector<Op> ops;
    std::vector<Wait> waits;
    std::array<std::vector<std::uint32_t>, strategies::lanes> queue;
    std::vector<std::uint32_t> syncs;  ///< the operation that ends each segment but the last
    std::uint32_t slots = 0;
    /// Of a shortened program: operations of the last written round cost what those of the round before do, and wait
    /// for the same of them; so then do those of the rounds that are left out.
    bool steady = false;

    /// Refers to the program, which must outlive it.
    Tape(const strategies::Program& program, std::uint32_t role, const Costs& costs, const Traffic& traffic,
         Slots::Of slots_of = Slots::Of::ends_reused);

    [[nodiscard]] std::span<const Wait> waits_of(const Op& op) const {
        return {waits.data() + op.first_wait, op.waits};
    }

private:
    [[nodiscard]] bool is_steady(const strategies::Program& program, std::uint32_t role, const Costs& costs,
                                 const strategies::Hazards& hazards) const;
};

/// A tape for every role of a step on every kind of GPU that its classes run on. Refers to the step.
class Tapes {
public:
    Tapes(const strategies::StepProgram& step, const KindCosts& costs, const Traffic& traffic,
          const std::vector<RankClass>& classes);

    [[nodiscard]] const Tape& of(const RankClass& rank) const {
        return *known_[rank.role * costs_.size() + costs_.number(rank.representative)];
    }
    /// Tape::steady of all of them.
    [[nodiscard]] bool steady() const { return std::ranges::all_of(tapes_, &Tape::steady); }

private:
    const KindCosts& costs_;
    std::deque<Tape> tapes_;
    std::vector<const Tape*> known_;  // by role and kind
};

}  // namespace orrery::sim
