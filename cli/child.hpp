// Another program, run as a part of this one: signals go on to it, its exit code comes back.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/spawn.hpp"

namespace orrery::cli {

/// orrery-device: $ORRERY_DEVICE, beside the running program, or on PATH. Throws Error, with how to build it.
std::filesystem::path device_program();

/// Runs a program found by path or on PATH and waits for it; it does not outlive this process. SIGINT, SIGTERM and
/// SIGHUP that reach this process go to it, a key's SIGINT but once, and the third of them is made a SIGKILL; when it
/// ends after one, and not with `done`, Interrupted is thrown. Exit codes 0 to 3 come back as they are; any other end
/// is run_failure, and a message on stderr says which. given_up: asked twice a second; when it says so the program is
/// told to end (SIGTERM), a few seconds later made to (SIGKILL), and run_failure comes back. Throws Error when it
/// cannot be started.
Exit run_child(const std::vector<std::string>& arguments, const std::function<bool()>& given_up = nullptr,
               const StandardFiles& files = {});

}  // namespace orrery::cli
