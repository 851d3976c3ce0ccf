#include "strategies/step_program.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/enum_table.hpp"

namespace orrery::strategies {

namespace {
constexpr EnumNames<Lane> lane_names{"compute",
                                     "tensor",
                                     "expert",
                                     "data",
                                     "send-forward",
                                     "recv-forward",
                                     "send-backward",
                                     "recv-backward",
                                     "offload",
                                     "reload",
                                     "host",
                                     "send-forward-against",
                                     "recv-forward-against",
                                     "send-backward-against",
                                     "recv-backward-against",
                                     "read-storage",
                                     "write-storage",
                                     "replicas"};
constexpr EnumNames<Keep> keep_names{"weights", "gradients", "optimizer", "activations", "scratch"};
constexpr EnumNames<Phase> phase_names{"forward", "recompute", "backward", "gradient", "optimizer"};
static_assert(lanes == lane_names.size() && keeps == keep_names.size());
}  // namespace

std::string_view name(Lane lane) { return lane_names[lane]; }
std::string_view name(Keep keep) { return keep_names[keep]; }
std::string_view name(Phase phase) { return phase_names[phase]; }

Lifetime usual_lifetime(Keep keep) {
    const bool lasts = keep == Keep::weight || keep == Keep::gradient || keep == Keep::optimizer;
    return {.span = lasts ? Lifetime::Span::step : Lifetime::Span::use};
}

BufferId Builder::buffer(const Buffer& buffer) {
    program_.buffers.push_back(buffer);
    return static_cast<BufferId>(program_.buffers.size() - 1);
}

std::uint32_t Builder::emit(Lane lane, Label label, What what, std::span<const BufferId> reads,
                            std::span<const BufferId> writes) {
    Op op{what,
          label,
          static_cast<std::uint32_t>(program_.operands.size()),
          static_cast<std::uint16_t>(reads.size()),
          static_cast<std::uint16_t>(writes.size()),
          lane};
    // Most have one or two: inserted as ranges they take twice as long.
    for (const BufferId id : reads) program_.operands.push_back(id);
    for (const BufferId id : writes) program_.operands.push_back(id);
    program_.ops.push_back(op);
    return static_cast<std::uint32_t>(program_.ops.size() - 1);
}

std::uint32_t Builder::emit(Lane lane, Label label, What what, std::initializer_list<BufferId> reads,
                            std::initializer_list<BufferId> writes) {
    return emit(lane, label, what, std::span(reads.begin(), reads.size()), std::span(writes.begin(), writes.size()));
}

std::uint16_t Builder::state(StateDetail detail) {
    if (priced_only_) detail = {};
    auto& known = program_.state_details;
    const auto same = detail.operands.empty()
                          ? std::ranges::find_if(known, [](const StateDetail& each) { return each.operands.empty(); })
                          : known.end();
    const auto number = static_cast<std::uint16_t>(same - known.begin());
    if (same == known.end()) known.push_back(std::move(detail));
    same_state(number);
    return number;
}

}  // namespace orrery::strategies
