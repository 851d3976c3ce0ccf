// Broken scenario files: a sound document with one thing wrong with it, for every key and for every rule.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace orrery::scenarios {

struct BadScenario {
    std::string name;              ///< unique, fit for a file name
    std::string bytes;             ///< the file's content
    std::string expected_pointer;  ///< "" where the fault has no place inside the document
    std::string mention;           ///< the offending value or key: the message must contain it
    bool structural = false;       ///< scenario.schema.json must refuse it too
};

/// The sound document that the corpus breaks; it loads.
nlohmann::json sound_scenario();

std::vector<BadScenario> bad_scenarios();

}  // namespace orrery::scenarios
