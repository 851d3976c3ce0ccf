// A scenario file. One that is accepted can be written out in full and read again.
#include "scenarios/scenario.hpp"

#include <nlohmann/json.hpp>

#include "documents/document.hpp"
#include "tests/fuzz/resolved_again.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool scenario(const std::string& input) {
    constexpr const char* file = "scenarios/input.json";
    try {
        require_resolves(scenarios::from_json(documents::parse_document(input, file), file));
        return true;
    } catch (const Error& error) {
        require(!error.file().empty(), std::string("an error names a file: ") + error.what());
        require_helpful(error, error.file());  // this one, or one that it names
        return false;
    }
}

}  // namespace orrery::fuzz
