// orrery import chakra.
#pragma once

namespace CLI {
class App;
}

namespace orrery::cli {

/// Adds it to `orrery import`.
void add_import_chakra(CLI::App& import);

}  // namespace orrery::cli
