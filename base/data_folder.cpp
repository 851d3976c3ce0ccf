#include "base/data_folder.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.hpp"

namespace orrery {

namespace fs = std::filesystem;

namespace {

bool holds_data(const fs::path& folder) {
    std::error_code ignored;
    return fs::is_directory(folder / "profiles", ignored);
}

}  // namespace

fs::path data_folder() {
    if (const char* chosen = std::getenv("ORRERY_DATA"); chosen && *chosen) {
        if (holds_data(chosen)) return chosen;
        std::error_code ignored;
        const char* const wrong = fs::is_directory(chosen, ignored) ? "has no profiles/" : "is not a folder";
        throw Error("$ORRERY_DATA", "", fmt::format("\"{}\" {}", chosen, wrong),
                    "name the folder that holds profiles/, or unset the variable");
    }
    // Never a path of the machine that built the program: a prefix may be moved, a package is built elsewhere.
    std::error_code ignored;
    const fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    const fs::path installed = beside.parent_path() / "share" / "orrery" / "scenarios";
    const fs::path built = beside / "share" / "orrery" / "scenarios";
    for (const fs::path& folder : {installed, built})
        if (!beside.empty() && holds_data(folder)) return folder;
    throw Error(fmt::format("the shipped data are missing: {} holds no profiles/", installed.string()),
                "install the program again, or let ORRERY_DATA name the folder that holds profiles/");
}

}  // namespace orrery
