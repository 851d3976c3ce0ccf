// orrery import torch-trace.
#pragma once

namespace CLI {
class App;
}

namespace orrery::cli {

/// Adds it to `orrery import`.
void add_import_trace(CLI::App& import);

}  // namespace orrery::cli
