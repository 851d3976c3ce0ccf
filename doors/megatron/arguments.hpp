// The words of a command line as what they give: flags with their values.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "doors/draft.hpp"
#include "doors/meaning.hpp"

namespace orrery::doors::megatron {

/// A word and where it stands.
struct Argument {
    std::string text;
    Place place;
};

/// "--num-layers" -> "num_layers"; "" for a word that is no flag.
std::string flag_name(std::string_view word);

/// Splits arguments into flags with as many words as their rows say (--name value, --name=value); flags of no row take
/// what follows up to the next flag. Missing values and words that belong to no flag become findings.
Givens read_arguments(const std::vector<Argument>& words, std::span<const Row> table, Draft& draft);

}  // namespace orrery::doors::megatron
