// The built program, run as a user runs it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::cli {

struct Result {
    int exit = -1;  ///< exit code; 128 + n when signal n ended it
    std::string out, err;
};

/// Runs orrery with these arguments in the project's root. environment: "NAME=value", beside a plain PATH.
Result orrery(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {});

/// A folder for one test's files, removed at the end.
class Folder {
public:
    Folder();
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] std::string operator/(std::string_view name) const { return (path_ / name).string(); }
    /// Writes a file and returns its path.
    [[nodiscard]] std::string file(std::string_view name, std::string_view content) const;
    /// Names of the files in it, sorted.
    [[nodiscard]] std::vector<std::string> names() const;

private:
    std::filesystem::path path_;
};

std::string content_of(const std::string& file);

}  // namespace orrery::cli
