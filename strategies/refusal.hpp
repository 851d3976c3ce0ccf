// How plans are refused: with the key, what is wrong, who says so, and the nearest values that are legal.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "strategies/refusal_sources.hpp"

namespace orrery::strategies {

struct Plan;

/// Throws Error. pointer: "/strategy/tensor". The source stands behind the message: "3 does not divide the 16 heads
/// (Shoeybi et al. 2019, arXiv:1909.08053, section 3)".
[[noreturn]] void refuse(std::string_view pointer, std::string_view message, std::string hint, Source source);

/// What DeepSpeed's ZeRO-3 does not go with, whatever is asked of it by the key `pointer`: pipelines and experts.
void refuse_beside_zero3(const Plan& plan, std::string_view pointer);

/// "nearest legal values: 4, 8": the closest on either side of value, within [1, last], that the rule allows.
std::string nearest_legal(std::uint64_t value, std::uint64_t last, const std::function<bool(std::uint64_t)>& legal);
std::string nearest_divisors(std::uint64_t value, std::uint64_t of);
std::string nearest_multiples(std::uint64_t value, std::uint64_t of);

}  // namespace orrery::strategies
