// The values that a question names for one key: lists and ranges, as in "1,2,4", "1..8 x2", "100..800 Gb/s +100".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::planning {

/// What a range without a step means: nothing that anyone should guess, or powers of two.
enum class Stepless : std::uint8_t { refused, doubled };

/// The entries of a list, each as a scenario's `--set` takes it. Entries stand between commas (those inside quotes and
/// brackets are part of a value). A range "a..b" says its step: "xF" multiplies, "+S" adds; both ends belong to it, the
/// last where the steps meet it. One unit stands for both ends and the step: "100..800 Gb/s x2". Throws Error without a
/// place for empty lists, entries and ranges, steps that lead nowhere, and more than 100,000 values.
std::vector<std::string> parse_values(std::string_view text, Stepless stepless = Stepless::refused);

}  // namespace orrery::planning
