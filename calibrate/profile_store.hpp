// Profiles by name, each read once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "calibrate/predictor.hpp"

namespace orrery::calibrate {

class ProfileStore {
public:
    /// A shipped profile's name ("a100") or a path to a profile. Throws Error naming the shipped ones. The reference
    /// lives as long as the store. Threads may ask at once.
    const Predictor& find(const std::string& name_or_path);

    /// Names of the shipped profiles, sorted.
    static std::vector<std::string> shipped();
    /// Whether a profile of that name is shipped; asks for the one file.
    static bool ships(const std::string& name);

private:
    struct Entry {
        Profile profile;
        std::unique_ptr<Predictor> predictor;
    };
    std::mutex mutex_;
    std::map<std::string, std::unique_ptr<Entry>> entries_;
};

}  // namespace orrery::calibrate
