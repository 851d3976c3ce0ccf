// A folder for a program's own passing files, that no one else can have made.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/interrupt.hpp"

namespace orrery {

/// A fresh folder that only this user can enter, below $TMPDIR or /tmp; removed with all that is in it at the end, and
/// when the program is interrupted. One that was killed (SIGKILL) leaves it: the next TemporaryFolder of the same
/// purpose removes it, which it may because the folder holds a file whose lock dies with its owner.
class TemporaryFolder {
public:
    /// purpose: "run" makes orrery-run-XXXXXX. Throws Error.
    explicit TemporaryFolder(const std::string& purpose);
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    /// From now on it is the user's: it stays, and nobody removes it.
    void keep();

private:
    std::filesystem::path path_;
    int lock_ = -1;
    bool kept_ = false;
    std::optional<UndoneWhenInterrupted> undone_;
};

}  // namespace orrery
