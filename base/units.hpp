// Quantities with units as users write them ("400 Gb/s", "80 GiB", "2 us"), and their printing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orrery {

/// "80 GiB", "1.5 MB", "512 B" -> bytes, rounded to whole bytes. Prefixes k, M, G, T, P are powers of
/// 1000; Ki, Mi, Gi, Ti, Pi powers of 1024. Throws Error when the unit is missing or unknown, or the
/// number is negative, not finite or beyond 2^63.
std::uint64_t parse_bytes(std::string_view text);

/// "400 Gb/s" (bits) or "50 GB/s" (bytes) -> bytes per second. Throws Error; zero is refused.
double parse_bytes_per_second(std::string_view text);

/// "2 us", "1.5 ms", "3 s", "40 ns", "5 min", "2 h", "90 days" -> seconds. Throws Error.
double parse_seconds(std::string_view text);

/// 1.84 -> "1.84 s", 0.0021 -> "2.10 ms": three significant digits and the natural unit.
std::string format_seconds(double seconds);

/// Binary units: 85899345920 -> "80.0 GiB".
std::string format_bytes(double bytes);

/// A relative error: -0.0321 -> "-3.2%", 0.5 -> "+50.0%".
std::string format_relative(double share);

/// Decimal prefix for a rate or count: 569000 -> "569k", 1.75e11 -> "175B" (B for 10^9, as in "175B parameters").
std::string format_count(double value);

/// 193496 -> "193,496".
std::string format_grouped(std::uint64_t value);

}  // namespace orrery
