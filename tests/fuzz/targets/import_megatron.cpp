// A launch script of Megatron-LM.
#include "tests/fuzz/imported.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool import_megatron(const std::string& input) { return becomes_scenario("megatron", input); }

}  // namespace orrery::fuzz
