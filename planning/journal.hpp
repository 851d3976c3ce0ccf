// What a long question has answered so far, kept in a file beside its output: killed, it goes on with the same command.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "planning/evaluate.hpp"

namespace orrery::documents {
class Value;
}

namespace orrery::planning {

/// Of one point of a question: what came of it, or why it cannot be.
struct Answer {
    Outcome outcome;
    std::string problem;  ///< empty: there is an outcome
    bool operator==(const Answer&) const = default;
};

/// What must be the same for answers to belong together.
struct Question {
    std::string command;      ///< "sweep"
    std::string fingerprint;  ///< of everything that decides its answers
    std::uint64_t points = 0;
};

/// A log of JSON lines, one a point, in the order in which they come. Threads may append at once.
class Journal {
public:
    enum class Start : std::uint8_t { go_on, afresh };
    static constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();  ///< number of points not known
    /// Without a file (""): nothing is kept. go_on: behind the answers of the same question; what was cut off in
    /// writing is dropped, and asked again. Throws Error when another process has it, and for a file that is the log of
    /// another question, or none at all.
    Journal(const std::filesystem::path& file, const Question& question, Start start);
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    /// The answers that it held at the start, by point.
    [[nodiscard]] const std::map<std::uint64_t, Answer>& found() const { return found_; }
    /// Survives a kill when it returns, and the machine's death a second later. Throws Error on a full disk.
    void append(std::uint64_t point, const Answer& answer);
    /// The question is answered, and its output in place: the log has served.
    void remove();

private:
    struct File;
    void read(const std::string& text, const Question& question, Start start);

    std::mutex mutex_;
    std::unique_ptr<File> file_;
    std::map<std::uint64_t, Answer> found_;
};

/// An answer as a JSON line (without its end), and back. Throws Error for a line that is none.
std::string to_line(std::uint64_t point, const Answer& answer);
std::pair<std::uint64_t, Answer> from_line(std::string_view line);
/// The same of a line that is part of a document.
std::pair<std::uint64_t, Answer> read_answer(const documents::Value& line);

}  // namespace orrery::planning
