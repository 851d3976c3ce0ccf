// The keys of a scenario's strategy, for `orrery list strategies`.
#pragma once

#include <span>
#include <string_view>

namespace orrery::cli {

struct StrategyKey {
    std::string_view key;     ///< as in the scenario file, under "strategy"
    std::string_view values;  ///< choices separated by " | "; else the kind of value in angle brackets
    std::string_view what, source;
};
std::span<const StrategyKey> strategy_keys();

}  // namespace orrery::cli
