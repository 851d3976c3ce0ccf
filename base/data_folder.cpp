#include "base/data_folder.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <cstdlib>
#include <utility>

#include "base/error.hpp"

namespace orrery {

namespace fs = std::filesystem;

namespace {

bool holds_data(const fs::path& folder) {
    std::error_code ignored;
    return fs::is_directory(folder / "profiles", ignored);
}

/// The file of the shared object that this code is part of; empty in a program.
fs::path own_library() {
    Dl_info ignored{};
    link_map* object = nullptr;
    void* const here = reinterpret_cast<void*>(&holds_data);
    if (dladdr1(here, &ignored, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0 || object == nullptr)
        return {};
    return object->l_name;
}

fs::path above(fs::path folder, int levels) {
    while (levels-- > 0) folder = folder.parent_path();
    return folder;
}

/// Folders whose share/orrery may be the data's, as installed and as built.
std::pair<fs::path, fs::path> prefixes() {
    std::error_code ignored;
    if (const fs::path library = own_library(); !library.empty()) {
        const fs::path beside = fs::canonical(library, ignored).parent_path();
        return {above(beside, 4), above(beside, 2)};  // PREFIX/lib/python3/dist-packages/orrery, BUILD/python/orrery
    }
    const fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    return {beside.parent_path(), beside};
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
    const auto [installed, built] = prefixes();
    for (const fs::path& prefix : {installed, built})
        if (const fs::path folder = prefix / "share" / "orrery" / "scenarios"; !prefix.empty() && holds_data(folder))
            return folder;
    throw Error(fmt::format("the shipped data are missing: {} holds no profiles/",
                            (installed / "share/orrery/scenarios").string()),
                "install the program again, or let ORRERY_DATA name the folder that holds profiles/");
}

}  // namespace orrery
