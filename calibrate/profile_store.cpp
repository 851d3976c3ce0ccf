#include "calibrate/profile_store.hpp"

#include <algorithm>
#include <filesystem>

#include "base/data_folder.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace orrery::calibrate {

namespace fs = std::filesystem;

std::vector<std::string> ProfileStore::shipped() {
    std::vector<std::string> names;
    const fs::path folder = data_folder() / "profiles";
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
        if (entry->path().extension() == ".json") names.push_back(entry->path().stem().string());
    if (failed)
        throw Error(folder.string(), "", "the shipped profiles cannot be read: " + failed.message(),
                    "is the data folder ($ORRERY_DATA) the right one?");
    std::sort(names.begin(), names.end());
    return names;
}

namespace {

/// Paths of a scenario are relative to its folder; a file of that name where the command is run was probably meant.
std::string remedy_for(const std::string& name) {
    std::error_code ignored;
    const fs::path here = fs::absolute(fs::path(name).filename(), ignored);
    if (name != here && fs::exists(here, ignored))
        return "paths in a scenario are relative to its file: write " + here.string();
    return "a shipped one (" + join(ProfileStore::shipped(), ", ") + ") or the path of a profile";
}

}  // namespace

bool ProfileStore::ships(const std::string& name) { return fs::exists(data_folder() / "profiles" / (name + ".json")); }

const Predictor& ProfileStore::find(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    auto& entry = entries_[name];
    if (!entry) {
        fs::path file = data_folder() / "profiles" / (name + ".json");
        std::error_code ignored;
        if (!fs::exists(file, ignored)) file = name;
        if (!fs::exists(file, ignored)) throw Error("", "/profile", "no profile \"" + name + "\"", remedy_for(name));
        auto fresh = std::make_unique<Entry>();
        fresh->profile = load_profile(file);
        fresh->predictor = std::make_unique<Predictor>(fresh->profile);
        entry = std::move(fresh);
    }
    return *entry->predictor;
}

}  // namespace orrery::calibrate
