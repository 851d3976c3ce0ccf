// Errors a user can mend: one exception type at the boundary of the program.
#pragma once

#include <stdexcept>
#include <string>

namespace orrery {

/// Process exit codes, as documented in README.md.
enum class Exit : int { done = 0, outside_tolerance = 1, bad_input = 2, run_failure = 3, interrupted = 130 };

/// Bad input: where it is, what is wrong with it and how to mend it. Thrown by loaders and checks,
/// caught once in cli/main.cpp, which prints it and exits with Exit::bad_input.
class Error : public std::runtime_error {
public:
    /// file: path as the user wrote it ("" when there is none); pointer: RFC 6901 JSON pointer into it
    /// ("" for the whole document); message: what is wrong, with the value; hint: how to mend it.
    Error(std::string file, std::string pointer, std::string message, std::string hint = "");

    /// An error that no file or pointer belongs to.
    explicit Error(std::string message, std::string hint = "");

    [[nodiscard]] const std::string& file() const { return file_; }
    [[nodiscard]] const std::string& pointer() const { return pointer_; }
    [[nodiscard]] const std::string& message() const { return message_; }
    [[nodiscard]] const std::string& hint() const { return hint_; }

    /// The same error with file set, when it had none: callers that know the file add it.
    [[nodiscard]] Error in_file(const std::string& file) const;

private:
    std::string file_, pointer_, message_, hint_;
};

}  // namespace orrery
