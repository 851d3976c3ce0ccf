// A TorchTitan job configuration.
#include "tests/fuzz/imported.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool import_torchtitan(const std::string& input) { return becomes_scenario("torchtitan", input); }

}  // namespace orrery::fuzz
