// How ranks that hold the same parameters divide them: one row each.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "strategies/layout.hpp"

namespace orrery::strategies {

enum class Sharding : std::uint8_t { none, zero1, zero2, zero3 };

/// How ranks that share come to the sums of their own parts of gradients: by one reduce_scatter (Megatron-LM, FSDP), by
/// a reduce of each part to its rank (PaddlePaddle; DeepSpeed before 0.12.4), or by an all_reduce, of which each keeps
/// its part (DeepSpeed since; its reduce_scatter: false).
enum class GradReduceCollective : std::uint8_t { reduce_scatter, reduce, all_reduce };

/// What ranks that use the same parameters on other tokens keep of them. Gradients leave a backward as terms of a sum
/// (partial): kept so they are added up over micro-batches and reduced once a step, kept sharded they are scattered
/// behind every backward. Each rank updates what it has states of.
struct Kept {
    Placement weights = Placement::replicated, gradients = Placement::partial, states = Placement::replicated;
};

struct ShardingRow {
    Sharding kind;
    std::string_view name;   ///< the value of a strategy's key `sharding`
    std::string_view title;  ///< in reports; empty: nothing to say
    /// Along the axes of ranks that share. Along Axis::replica lie copies of such groups, each of which keeps all, or
    /// under ZeRO++ nodes, which share too.
    Kept kept;
};

inline constexpr Kept keeps_all{};
inline constexpr Kept keeps_states{Placement::replicated, Placement::partial, Placement::sharded_flat};
inline constexpr Kept keeps_gradients{Placement::replicated, Placement::sharded_flat, Placement::sharded_flat};
inline constexpr Kept keeps_shares{Placement::sharded_flat, Placement::sharded_flat, Placement::sharded_flat};

/// Rajbhandari et al. 2020 (ZeRO): 1 shards the states (Megatron-LM's distributed optimizer), 2 the gradients too, 3
/// the weights too (FSDP's FULL_SHARD; Zhao et al. 2023). Beside several groups that share (Axis::replica) 1 is
/// Megatron-LM's distributed optimizer in instances, and 3 FSDP's HYBRID_SHARD.
inline constexpr std::array shardings{
    ShardingRow{Sharding::none, "none", "", keeps_all},
    ShardingRow{Sharding::zero1, "zero1", "ZeRO-1", keeps_states},
    ShardingRow{Sharding::zero2, "zero2", "ZeRO-2", keeps_gradients},
    ShardingRow{Sharding::zero3, "zero3", "ZeRO-3", keeps_shares},
};
static_assert(
    [] {
        for (std::size_t i = 0; i < shardings.size(); ++i)
            if (shardings[i].kind != static_cast<Sharding>(i)) return false;
        return true;
    }(),
    "a sharding's row stands at its value");

inline constexpr auto sharding_names = [] {
    std::array<std::string_view, shardings.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = shardings[i].name;
    return names;
}();

constexpr const ShardingRow& row_of(Sharding kind) { return shardings.at(static_cast<std::size_t>(kind)); }

}  // namespace orrery::strategies
