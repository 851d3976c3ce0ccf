// Rates of dropout, of hidden states and of attention's probabilities.
#pragma once

#include <string_view>

#include "doors/draft.hpp"
#include "doors/meaning.hpp"

namespace orrery::doors {

/// Of Megatron-LM's and NeMo's two rates, by their names, each 0.1 where it is not given: the scenario has one, and
/// says whether attention has none. Of two others the difference is noted.
void read_dropout(const Givens& given, std::string_view hidden, std::string_view attention, Draft& draft);

}  // namespace orrery::doors
