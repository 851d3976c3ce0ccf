// Arguments of Megatron-LM that are understood together, and the defaults of those that are not given: those of
// megatron/training/arguments.py, and of Megatron-DeepSpeed where a launch uses it.
#pragma once

#include "doors/draft.hpp"
#include "doors/meaning.hpp"

namespace orrery::doors::megatron {

void read_model(const Givens& given, Draft& draft);
void read_vocabulary(const Givens& given, Draft& draft);
void read_experts(const Givens& given, Draft& draft);
void read_parallelism(const Givens& given, Draft& draft);
void read_overlap(const Givens& given, Draft& draft);
void read_recomputation(const Givens& given, Draft& draft);
void read_training(const Givens& given, Draft& draft);

}  // namespace orrery::doors::megatron
