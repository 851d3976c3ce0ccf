// A MaxText configuration.
#include "tests/fuzz/imported.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool import_maxtext(const std::string& input) { return becomes_scenario("maxtext", input); }

}  // namespace orrery::fuzz
