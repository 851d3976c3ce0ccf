// $(( ... )): whole numbers, as shells reckon them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace orrery::doors::shell {

/// What a name stands for; nothing where that is not known.
using Number = std::optional<std::int64_t>;
using NumberOf = std::function<Number(std::string_view name)>;

/// The value; nothing where a name is not known, for assignments, for what is no expression, and where a result leaves
/// 64 bits.
Number evaluate(std::string_view expression, const NumberOf& number_of);

}  // namespace orrery::doors::shell
