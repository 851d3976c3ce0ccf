// Where the processes of a run leave word of what they do.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/temporary_folder.hpp"

namespace orrery::cli {

/// A temporary folder, or the one that the user named, of which only what the run itself made is ever removed. It goes
/// at the end unless keep() was called.
class RunFolder {
public:
    /// given: empty for a temporary one. own: the ranks whose records this process is answerable for, all or, in a job
    /// whose processes may share the folder, one; the first rank's owner makes the files of the whole run. Throws Error
    /// when the folder cannot be made, or holds something of a name that the run would write.
    RunFolder(const std::string& given, std::vector<std::uint32_t> own);
    ~RunFolder();
    RunFolder(const RunFolder&) = delete;
    RunFolder& operator=(const RunFolder&) = delete;

    /// A failed run's files stay where its message says that they are.
    void keep();

    [[nodiscard]] std::filesystem::path plan() const { return path_ / "plan.json"; }
    [[nodiscard]] std::filesystem::path measured() const { return path_ / "measured.json"; }
    /// A line a measured step: what is left when a run fails.
    [[nodiscard]] std::filesystem::path steps() const { return path_ / "measured.json.steps"; }
    /// What a first rank on another host printed.
    [[nodiscard]] std::filesystem::path printed() const { return path_ / "printed"; }
    /// The folder of the ranks' records.
    [[nodiscard]] std::filesystem::path progress() const { return path_ / "ranks"; }

private:
    void make();
    void remove_own() const;

    std::optional<TemporaryFolder> temporary_;
    std::filesystem::path path_;
    std::vector<std::filesystem::path> files_;    ///< that the run makes
    std::vector<std::filesystem::path> folders_;  ///< that this process made, inner ones first
    bool kept_ = false;
    std::optional<UndoneWhenInterrupted> undone_;
};

}  // namespace orrery::cli
