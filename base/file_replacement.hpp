// A file that appears whole or not at all: the one way in which this project writes files that others read.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace orrery {

/// Writes to a file without a name in the target's folder, which commit() flushes to the disk and puts in the target's
/// place: a reader never sees half a file, what fails or is interrupted leaves the old one and nothing beside it, and
/// two writers do not meet. Where the file system knows no files without names the file has a name of its own, made
/// exclusively; and where it takes an old file's place, for the time between two system calls, which SIGKILL alone can
/// part. An old target's mode is kept, and its owner where this user may give files away. A symbolic link is
/// followed; a target that is no regular file (/dev/null, a pipe) is written directly.
class FileReplacement {
public:
    /// Opens at once, so that a path that cannot be written fails before the work begins. Throws Error.
    explicit FileReplacement(std::filesystem::path target);
    /// Nothing is left unless it was committed.
    ~FileReplacement();
    FileReplacement(FileReplacement&&) noexcept;
    FileReplacement& operator=(FileReplacement&&) = delete;

    /// Throws Error when the disk is full.
    void write(std::string_view text);
    /// Throws Error; once only.
    void commit();

    /// For those who write otherwise; it stays this object's.
    [[nodiscard]] int descriptor() const;
    /// As the user wrote it.
    [[nodiscard]] const std::filesystem::path& target() const;
    /// Throws the Error of a target that cannot be written. error: of errno.
    [[noreturn]] void fail(int error) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// The text as the whole of a file. Throws Error.
void replace_file(const std::filesystem::path& target, std::string_view text);

}  // namespace orrery
