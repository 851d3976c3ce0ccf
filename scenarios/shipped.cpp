#include "scenarios/shipped.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/data_folder.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace orrery::scenarios {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view lectures = "lectures";

/// Scenarios lie beside their schema.
bool is_scenario(const fs::path& file) {
    return file.extension() == ".json" && !file.stem().string().ends_with(".schema");
}

std::vector<fs::path> scenarios_in(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
        if (is_scenario(entry->path())) files.push_back(entry->path());
    std::ranges::sort(files);
    return files;
}

Error unknown(const std::string& named, const std::vector<fs::path>& files) {
    std::vector<std::string> names;
    for (const fs::path& file : files) names.push_back(shipped_name(file));
    const std::vector<std::string_view> views(names.begin(), names.end());
    const std::string shown = named.substr(0, 64);
    std::string hint = "name a scenario file (JSON)";
    if (!views.empty())
        hint += fmt::format("; of those that come with the program the nearest is {} (orrery list scenarios)",
                            nearest(shown, views, 1).front());
    return Error(fmt::format("\"{}\" is neither a file nor a scenario that comes with the program", shown), hint);
}

}  // namespace

std::vector<fs::path> shipped_files() {
    std::vector<fs::path> files = scenarios_in(data_folder());
    for (fs::path& file : scenarios_in(data_folder() / lectures)) files.push_back(std::move(file));
    return files;
}

std::string shipped_name(const fs::path& file) {
    const bool lecture = file.parent_path().filename() == lectures;
    return (lecture ? fmt::format("{}/", lectures) : "") + file.stem().string();
}

std::string file_of(const std::string& named) {
    std::error_code ignored;
    const bool lecture = named.starts_with(fmt::format("{}/", lectures));
    if (named.empty() || (named.find('/') != named.npos && !lecture) || fs::exists(named, ignored)) return named;
    const std::vector<fs::path> files = shipped_files();
    const auto found = std::ranges::find_if(files, [&](const fs::path& file) {
        const std::string name = shipped_name(file);
        return named == name || named == name + ".json";
    });
    if (found != files.end()) return found->string();
    if (!named.ends_with(".json")) throw unknown(named, files);
    return named;
}

}  // namespace orrery::scenarios
