// What other frameworks' files ask for and no prediction stands for yet: known, and refused by name.
#pragma once

#include <span>
#include <string_view>

#include "scenarios/keys.hpp"

namespace orrery::scenarios {

/// A key of Megatron-LM, DeepSpeed or PyTorch, or a value of a key that there is.
struct NotModelled {
    Place place;
    std::string_view key;
    std::string_view value;  ///< empty: the key, whatever its value
    std::string_view what;   ///< "ZeRO-3"
    std::string_view instead;
};

std::span<const NotModelled> not_modelled();

/// The entry of an unknown key, or of a key's unknown value; nullptr when there is none. Upper and lower case, '-' and
/// '_' are the same.
const NotModelled* find_not_modelled(Place place, std::string_view key, std::string_view value = {});

}  // namespace orrery::scenarios
