// Scenarios whose values are well formed one by one and contradict each other, the model or the machine.
#pragma once

#include <string>
#include <vector>

namespace orrery::scenarios {

/// A change to sound_scenario(): the value at a pointer, as JSON text; an empty text removes the key.
struct Change {
    std::string pointer, text;
};

struct Clash {
    std::string name;
    std::vector<Change> changes;
    std::string pointer, mention;  ///< of the error that must follow
};

std::vector<Clash> clashes();

}  // namespace orrery::scenarios
