// The command that starts a training: its launcher, its program, its arguments.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "doors/draft.hpp"
#include "doors/megatron/arguments.hpp"

namespace orrery::doors::megatron {

/// Whether the words start a training: they have flags that every training has.
bool is_training(const std::vector<std::string>& words);

/// The arguments behind the program; what the launcher in front of it (torchrun, deepspeed, srun) says of nodes and
/// GPUs goes to the draft. Programs whose models are not predicted become findings.
std::vector<Argument> program_arguments(const std::vector<Argument>& words, Draft& draft);

}  // namespace orrery::doors::megatron
