// The commands of `orrery-device`, the program that touches hardware: it links CUDA, NCCL and MPI and never SimGrid.
// `orrery` starts it; the two share files only.
#pragma once

#include "base/error.hpp"

namespace CLI {
class App;
}

namespace orrery::cli {

void add_device_calibrate(CLI::App& program, Exit& exit);
void add_device_run(CLI::App& program, Exit& exit);
void add_device_network(CLI::App& program, Exit& exit);
void add_device_check(CLI::App& program, Exit& exit);
void add_device_list(CLI::App& program, Exit& exit);

/// True once SIGINT or SIGTERM has come, for a clean end. The first call holds both back from its thread and from those
/// that start later; until then they end the program.
bool stop_requested();

/// "5min", "90 s", "2min": as parse_seconds, the space being optional. Throws Error.
double budget_seconds(const std::string& text);

/// A file's content; "-" is standard input, which a launcher gives to the first rank alone. Throws Error with the hint.
std::string text_of(const std::string& file, const std::string& hint);

}  // namespace orrery::cli
