#include "base/data_folder.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.hpp"

namespace orrery {

namespace fs = std::filesystem;

fs::path data_folder() {
    std::error_code ignored;
    if (const char* chosen = std::getenv("ORRERY_DATA"); chosen && *chosen) {
        if (fs::is_directory(chosen, ignored)) return chosen;
        throw Error("$ORRERY_DATA", "", fmt::format("\"{}\" is not a folder", chosen),
                    "name the folder that holds profiles/, or unset the variable");
    }
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
    const fs::path installed = program.parent_path().parent_path() / "share" / "orrery";
    if (!program.empty() && fs::is_directory(installed, ignored)) return installed;
    const fs::path source = ORRERY_SOURCE_DATA;  // base/CMakeLists.txt
    if (fs::is_directory(source, ignored)) return source;
    throw Error(
        fmt::format("the shipped data are missing: neither {} nor {} is a folder", installed.string(), source.string()),
        "let ORRERY_DATA name the folder that holds profiles/");
}

}  // namespace orrery
