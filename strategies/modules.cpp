#include "strategies/modules.hpp"

namespace orrery::strategies {

std::string to_text(ModuleSet modules) { return set_to_text(modules, module_names); }

std::optional<ModuleSet> modules_named(std::string_view text) {
    return set_named<ModuleSet, Module>(text, module_names);
}

}  // namespace orrery::strategies
