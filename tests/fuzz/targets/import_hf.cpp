// A Hugging Face config.json, trained as --set says.
#include "tests/fuzz/imported.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool import_hf(const std::string& input) { return becomes_scenario("hf", input); }

}  // namespace orrery::fuzz
