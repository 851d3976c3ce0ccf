// A file that appears whole or not at all.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace orrery::report {

/// A FileReplacement (base/file_replacement.hpp) whose text is compressed when its name ends in ".gz" (no time stamp:
/// same input, same bytes).
class OutputFile {
public:
    /// Opens at once, so that a path that cannot be written fails before the work begins. Throws Error.
    explicit OutputFile(std::filesystem::path target);
    /// Nothing is left unless it was committed.
    ~OutputFile();
    OutputFile(OutputFile&&) noexcept;
    OutputFile& operator=(OutputFile&&) = delete;

    /// Throws Error when the disk is full.
    void write(std::string_view text);
    /// Nothing is written after it, and a full disk has been met by its end. Throws Error.
    void complete();
    /// Puts the file in its place, completed if it was not. Throws Error.
    void commit();

    /// As the user wrote it.
    [[nodiscard]] const std::filesystem::path& target() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace orrery::report
