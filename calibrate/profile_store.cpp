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

bool ProfileStore::ships(const std::string& name) { return fs::exists(data_folder() / "profiles" / (name + ".json")); }

const Predictor& ProfileStore::find(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    auto& entry = entries_[name];
    if (!entry) {
        fs::path file = data_folder() / "profiles" / (name + ".json");
        std::error_code ignored;
        if (!fs::exists(file, ignored)) file = name;
        if (!fs::exists(file, ignored))
            throw Error("", "/profile", "no profile \"" + name + "\"",
                        "a shipped one (" + join(shipped(), ", ") + ") or the path of a profile");
        auto fresh = std::make_unique<Entry>();
        fresh->profile = load_profile(file);
        fresh->predictor = std::make_unique<Predictor>(fresh->profile);
        entry = std::move(fresh);
    }
    return *entry->predictor;
}

}  // namespace orrery::calibrate
