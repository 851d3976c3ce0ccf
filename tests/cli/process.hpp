// The built program, run as a user runs it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::cli {

struct Result {
    int exit = -1;  ///< exit code; 128 + n when signal n ended it
    std::string out, err;
};

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

/// A terminal without a person.
class Terminal {
public:
    Terminal();
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    /// The device that programs write to.
    [[nodiscard]] std::string device() const;
    /// All that they have written so far. To be asked now and then: a terminal takes few kilobytes unread.
    const std::string& text();

private:
    int side_;
    std::string text_;
};

/// A program that is found on the PATH, and its arguments.
struct Command {
    std::vector<std::string> words;
};

/// A program while it runs: orrery, or another.
class Running {
public:
    /// environment: "NAME=value", beside a plain PATH. In the project's root. terminal: gets standard error, and
    /// Result::err stays empty.
    explicit Running(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {},
                     const Terminal* terminal = nullptr);
    explicit Running(const Command& command, const std::vector<std::string>& environment = {},
                     const Terminal* terminal = nullptr);
    /// Kills it unless it was waited for.
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    [[nodiscard]] pid_t process() const { return process_; }
    Result wait();

private:
    Folder folder_;
    pid_t process_ = 0;
};

/// Runs orrery with these arguments to its end.
Result orrery(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {});

/// Whether a process is more than an entry that nobody has asked for yet.
bool lives(std::int64_t process);

/// Whether `fact` becomes true within a minute.
bool comes_true(const std::function<bool()>& fact);

}  // namespace orrery::cli
