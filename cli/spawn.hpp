// Another program, started so that it does not outlive this one.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace orrery::cli {

/// Files that stand for a program's standard input and output; empty: it shares this program's.
struct StandardFiles {
    std::filesystem::path in, out;
};

/// What a program that this one started, and those that it starts, find in their environment: this program's number.
inline constexpr const char* started_by = "ORRERY_STARTED_BY";

/// The first program of this name on PATH; empty when there is none.
std::filesystem::path on_path(const std::string& name);
/// Whether it is a file that this user may run.
bool is_program(const std::filesystem::path& file);

/// Starts a program, found by path or on PATH. When this process ends, however that comes, the program gets SIGTERM
/// (of a call by another thread than main: when that thread ends). Throws Error when it cannot be started.
pid_t spawn(const std::vector<std::string>& words, const StandardFiles& files);

}  // namespace orrery::cli
