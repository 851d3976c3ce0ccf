// A NeMo configuration.
#include "tests/fuzz/imported.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool import_nemo(const std::string& input) { return becomes_scenario("nemo", input); }

}  // namespace orrery::fuzz
