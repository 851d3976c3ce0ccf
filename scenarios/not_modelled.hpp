// What other frameworks' files ask for and no prediction stands for yet: known, and refused by name.
#pragma once

#include <span>

#include "documents/section.hpp"

namespace orrery::scenarios {

/// Keys of Megatron-LM, DeepSpeed and PyTorch, and values of keys that there are.
std::span<const documents::NotModelled> not_modelled();

}  // namespace orrery::scenarios
