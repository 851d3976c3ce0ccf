#include "cli/run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "run/progress.hpp"

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;

/// Makes a folder and those that it lies in; the ones made, inner ones first.
std::vector<fs::path> make_folders(const fs::path& folder) {
    std::vector<fs::path> made;
    std::error_code failed;
    for (fs::path at = folder; !at.empty() && !fs::exists(fs::symlink_status(at, failed)); at = at.parent_path())
        made.push_back(at);
    fs::create_directories(folder, failed);
    if (failed || !fs::is_directory(folder, failed))
        throw Error(folder.string(), "", fmt::format("cannot be made: {}", failed ? failed.message() : "is no folder"),
                    "name a folder that you may write to");
    return made;
}

}  // namespace

RunFolder::RunFolder(const std::string& given, std::vector<std::uint32_t> own) {
    if (given.empty()) {
        temporary_.emplace("run");
        path_ = temporary_->path();
        fs::create_directory(progress());
        return;
    }
    path_ = fs::absolute(given).lexically_normal();
    if (!path_.has_filename()) path_ = path_.parent_path();  // "folder/"
    const bool first = std::ranges::find(own, 0U) != own.end();
    if (first) files_ = {plan(), measured(), steps(), printed()};
    for (const std::uint32_t rank : own) files_.push_back(run::progress_file(progress(), rank));
    make();
    undone_.emplace([this] { remove_own(); });
}

void RunFolder::make() {
    std::error_code ignored;
    for (const fs::path& file : files_)
        if (fs::exists(fs::symlink_status(file, ignored)))
            throw Error(
                file.string(), "", "is there already, and a run would overwrite it",
                "let --folder name an empty or a new folder; what an earlier run left there is yours to remove");
    folders_ = make_folders(progress());
}

RunFolder::~RunFolder() {
    undone_.reset();
    if (!kept_ && !temporary_) remove_own();
}

/// Folders go only when nothing else is in them.
void RunFolder::remove_own() const {
    std::error_code ignored;
    for (const fs::path& file : files_) fs::remove(file, ignored);
    for (const fs::path& folder : folders_) fs::remove(folder, ignored);
}

void RunFolder::keep() {
    kept_ = true;
    undone_.reset();
    if (temporary_) temporary_->keep();
}

}  // namespace orrery::cli
