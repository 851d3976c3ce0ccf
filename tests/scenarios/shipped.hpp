// The scenarios that the project ships.
#pragma once

#include <algorithm>
#include <filesystem>
#include <vector>

namespace orrery::scenarios {

/// scenarios/*.json but the schema, sorted; the working directory is the project's root.
inline std::vector<std::filesystem::path> shipped_scenarios() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator("scenarios")) {
        const std::filesystem::path& file = entry.path();
        if (file.extension() == ".json" && file.stem().extension() != ".schema") files.push_back(file);
    }
    std::ranges::sort(files);
    return files;
}

}  // namespace orrery::scenarios
