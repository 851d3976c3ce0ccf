// The readers of the kinds of file: each puts what it understands into a draft, and the rest among its findings.
#pragma once

#include "doors/draft.hpp"
#include "doors/import.hpp"

namespace orrery::doors {

void read_megatron(const Request& request, Draft& draft);
void read_deepspeed(const Request& request, Draft& draft);
void read_hugging_face(const Request& request, Draft& draft);
void read_torchtitan(const Request& request, Draft& draft);
void read_nemo(const Request& request, Draft& draft);
void read_maxtext(const Request& request, Draft& draft);

}  // namespace orrery::doors
