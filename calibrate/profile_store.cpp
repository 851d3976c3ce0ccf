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
    for (const auto& entry : fs::directory_iterator(data_folder() / "profiles"))
        if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

bool ProfileStore::ships(const std::string& name) { return fs::exists(data_folder() / "profiles" / (name + ".json")); }

const Predictor& ProfileStore::find(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    auto& entry = entries_[name];
    if (!entry) {
        fs::path file = data_folder() / "profiles" / (name + ".json");
        if (!fs::exists(file)) file = name;
        if (!fs::exists(file))
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
