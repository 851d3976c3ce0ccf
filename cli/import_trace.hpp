// orrery import torch-trace and orrery import nsys.
#pragma once

namespace CLI {
class App;
}

namespace orrery::cli {

/// Adds them to `orrery import`.
void add_import_trace(CLI::App& import);

}  // namespace orrery::cli
