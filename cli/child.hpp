// Another program, run as a part of this one: signals go on to it, its exit code comes back.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace orrery::cli {

/// orrery-device: $ORRERY_DEVICE, beside the running program, or on PATH. Throws Error, with how to build it.
std::filesystem::path device_program();

/// Files that stand for a program's standard input and output; empty: it shares this program's.
struct StandardFiles {
    std::filesystem::path in, out;
};

/// Runs a program found by path or on PATH; SIGINT and SIGTERM that reach this
/// process go to it, and it is waited for. Exit codes 0 to 3 come back as they are; any other end is run_failure, and a
/// message on stderr says which. given_up: asked twice a second; when it says so the program is told to end (SIGTERM),
/// a few seconds later made to (SIGKILL), and run_failure comes back. Throws Error when it cannot be started.
Exit run_child(const std::vector<std::string>& arguments, const std::function<bool()>& given_up = nullptr,
               const StandardFiles& files = {});

}  // namespace orrery::cli
