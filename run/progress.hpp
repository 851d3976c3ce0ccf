// What a rank is doing, in a file that outlives it: who reads it after a failure learns who failed and where.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "strategies/step_program.hpp"

namespace orrery::run {

enum class RankState : std::uint32_t { starting, running, finished, failed, stopped };

/// The content of the file. `stopped`: ended from outside, as the launcher ends the ranks beside one that died.
struct ProgressRecord {
    std::array<char, 8> magic{};
    std::atomic<RankState> state = RankState::starting;
    std::int64_t pid = 0;
    std::array<char, 64> host{};
    std::atomic<std::uint64_t> step = 0;
    std::array<std::atomic<std::uint32_t>, strategies::lanes> item{};  ///< by lane: the last that began, plus one
    std::array<char, 1024> message{};                                  ///< why it failed
};

/// Where rank `rank` of a run leaves its record.
std::filesystem::path progress_file(const std::filesystem::path& folder, std::uint32_t rank);

/// The record in shared memory of a file.
class Progress {
public:
    /// Makes the folder and the file. Throws Error.
    explicit Progress(const std::filesystem::path& file);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    [[nodiscard]] ProgressRecord& record() { return *record_; }
    void fail(const std::string& why);
    /// From now on SIGTERM leaves the state `stopped` and ends the process with code 3. One Progress a process.
    void watch_signals();

private:
    ProgressRecord* record_ = nullptr;
};

/// A copy of a record's facts.
struct RankTrace {
    RankState state = RankState::starting;
    std::int64_t pid = 0;
    std::string host, message;
    std::uint64_t step = 0;
    std::array<std::uint32_t, strategies::lanes> item{};
};
/// None when there is no such file, or it is not whole.
std::optional<RankTrace> read_progress(const std::filesystem::path& file);

}  // namespace orrery::run
