// A DeepSpeed configuration, of GPT-2.
#include "tests/fuzz/imported.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool import_deepspeed(const std::string& input) { return becomes_scenario("deepspeed", input); }

}  // namespace orrery::fuzz
