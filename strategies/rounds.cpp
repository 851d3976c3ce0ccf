#include "strategies/rounds.hpp"

#include <algorithm>

namespace orrery::strategies {

namespace {

bool alike(const Slot& one, const Slot& other) {
    return one.work == other.work && one.chunk == other.chunk && one.exchange == other.exchange;
}

/// Slots [first, last) of which each is like the one a round later.
struct Run {
    std::size_t first = 0, last = 0;
    [[nodiscard]] std::size_t size() const { return last - first; }
};

Run longest_run(std::span<const Slot> slots, std::size_t round) {
    Run longest, run;
    for (std::size_t i = 0; i + round < slots.size(); ++i) {
        if (!alike(slots[i], slots[i + round])) {
            run = {i + 1, i + 1};
            continue;
        }
        run.last = i + 1;
        if (run.size() > longest.size()) longest = run;
    }
    return longest;
}

bool same_buffers(const Program& program, std::span<const BufferId> one, std::span<const BufferId> other) {
    return std::ranges::equal(one, other,
                              [&](BufferId a, BufferId b) { return program.buffers[a] == program.buffers[b]; });
}

bool same_state(const Program& program, const Op& one, const Op& other) {
    if (one.state == no_state || other.state == no_state) return one.state == other.state;
    // Versions go on from round to round.
    return std::ranges::equal(program.state_details[one.state].operands, program.state_details[other.state].operands,
                              [](StateView view, const StateView& with) {
                                  view.version = with.version;
                                  return view == with;
                              });
}

bool alike(const Program& program, const Op& one, const Op& other) {
    return one.lane == other.lane && one.what == other.what && one.label.name == other.label.name &&
           one.label.layer == other.label.layer && one.label.phase == other.label.phase &&
           one.label.routed == other.label.routed && one.label.plain == other.label.plain &&
           one.label.single == other.label.single && one.label.looped == other.label.looped &&
           same_state(program, one, other) && same_buffers(program, program.reads(one), program.reads(other)) &&
           same_buffers(program, program.writes(one), program.writes(other));
}

/// Whether the last written round is like the one before. One that ends the program may lack what leads to the next.
bool ends_steadily(const Program& program, const Rounds& rounds) {
    if (rounds.end() > program.ops.size()) return false;
    for (std::uint32_t i = rounds.end() - rounds.ops; i < rounds.end(); ++i)
        if (!alike(program, program.ops[i - rounds.ops], program.ops[i])) return false;
    return true;
}

}  // namespace

Rounds steady_rounds(const Program& program, const WrittenSlots& written, std::uint32_t slots, std::uint32_t left_out) {
    Run run = longest_run(written.slots, slots);
    const auto ops = [&](std::size_t slot) { return written.begins[slot + slots] - written.begins[slot]; };
    // The last slot of a run already hands over to what comes behind, and the first may still be led in.
    while (run.size() > slots && ops(run.first) != ops(run.last - slots)) run.first += slots;
    if (run.size() < slots) return {};
    Rounds rounds{written.begins[run.first], ops(run.first), static_cast<std::uint32_t>(run.size() / slots) + 1,
                  left_out};
    while (rounds.written > 1 && !ends_steadily(program, rounds)) --rounds.written;
    return rounds.written > 1 ? rounds : Rounds{};
}

}  // namespace orrery::strategies
