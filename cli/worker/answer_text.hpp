// What a rank answers, as text: an answer, or the error that it met.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "planning/crew.hpp"

namespace orrery::worker {

/// "17 {...}": which work of the leader's a letter is about.
std::string numbered(std::uint64_t number, const std::string& text);
std::pair<std::uint64_t, std::string> take_number(const std::string& text);

/// What came of the work.
std::string answer_text(const planning::Simulate& simulate, const std::string& work);
/// The same on the other side. Throws the Error that the rank met, and std::runtime_error for what else went wrong.
planning::Answer answer_of(const std::string& text, const std::string& rank);

}  // namespace orrery::worker
