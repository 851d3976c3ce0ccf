// A file that appears whole or not at all.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace orrery::report {

/// Writes to a temporary file beside the target and renames it at commit(): a reader never sees half a file, and a
/// failed run leaves the old one. A name that ends in ".gz" is compressed (no time stamp: same input, same bytes).
/// A target that is no regular file (/dev/null, a pipe) is written directly; a symbolic link is followed.
class OutputFile {
public:
    /// Opens at once, so that a path that cannot be written fails before the work begins. Throws Error.
    explicit OutputFile(std::filesystem::path target);
    /// Removes the temporary file unless it was committed.
    ~OutputFile();
    OutputFile(OutputFile&&) noexcept;
    OutputFile& operator=(OutputFile&&) = delete;

    /// Throws Error when the disk is full.
    void write(std::string_view text);
    void commit();

    /// As the user wrote it.
    [[nodiscard]] const std::filesystem::path& target() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace orrery::report
