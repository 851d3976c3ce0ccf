#include "sim/replicas.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace orrery::sim {

namespace {

constexpr std::uint32_t none = Folding::none;

/// Whether a transfer may cross a link, by one folding's routes: those that a folding does not know may.
bool on_links(const Folding& folding, std::uint32_t number, const Tape::Op& op) {
    if (op.kind == Tape::Kind::collective) {
        const std::uint32_t group = folding.group(number, op.route);
        return group == none || folding.groups[group].uses > 0;
    }
    const std::uint32_t message = folding.message(number, op.route);
    return message == none || folding.messages[message].uses > 0;
}

}  // namespace

Traffic before_replicas_meet(const strategies::StepProgram& step, const Traffic& traffic) {
    std::array<bool, std::size_t{1} << strategies::all_axes.size()> early{};  // by bits of the set
    for (const strategies::Program& program : step.programs)
        for (std::size_t i = 0; i < program.ops.size() / 2; ++i)
            if (const auto* collective = std::get_if<strategies::Collective>(&program.ops[i].what))
                early[collective->group.bits()] = true;
    Traffic before = traffic;
    for (auto& groups : before.groups_of)
        std::erase_if(groups, [&](std::uint32_t set) { return !early[traffic.sets[set].axes.bits()]; });
    return before;
}

double last_quiet_moment(const Folding& fine, const Folding& coarse, const Tapes& tapes,
                         const std::vector<RankClass>& classes, double latest) {
    std::vector<Span> crossing;
    for (std::uint32_t number = 0; number < classes.size(); ++number) {
        const RankClass& rank = classes[number];
        const Tape& tape = tapes.of(rank);
        for (std::uint32_t i = 0; i < tape.ops.size(); ++i) {
            const Tape::Op& op = tape.ops[i];
            const bool seen = op.kind == Tape::Kind::send || op.kind == Tape::Kind::collective;
            if (!seen || !(rank.spans[i].begin < latest)) continue;
            if (on_links(coarse, number, op) || on_links(fine, fine.class_of[rank.representative], op))
                crossing.push_back(rank.spans[i]);
        }
    }
    std::ranges::sort(crossing, std::ranges::greater{}, &Span::begin);
    for (const Span& span : crossing)
        if (span.begin < latest && span.end >= latest) latest = span.begin;
    return latest;
}

}  // namespace orrery::sim
