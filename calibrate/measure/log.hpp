// The measurement log: one JSON object a line, appended and flushed to the disk point by point, so that a calibration
// that is stopped, or dies, goes on where it was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/append_log.hpp"
#include "calibrate/measure/record.hpp"
#include "kernels/communicator.hpp"

namespace orrery::calibrate {

inline constexpr int log_version = 1;

/// What must be the same for measurements to belong together.
struct Fingerprint {
    std::string kind, device, software, communicator;  ///< communicator: "" for a single process
    std::uint64_t memory_bytes = 0, cache_bytes = 0;
    std::uint32_t multiprocessors = 0, ranks = 1, nodes = 1;
    double core_hertz = 0;   ///< at the start; not compared
    std::string date;        ///< at the start; not compared
    double load_before = 0;  ///< share of the processors that others kept busy at the start; not compared
};
Fingerprint fingerprint(kernels::Device& device, const kernels::Communicator* communicator);

struct LogContent {
    Fingerprint fingerprint;
    std::vector<Record> records;
    std::uint64_t whole_bytes = 0;  ///< up to the end of the last whole line
};

/// Reads a log. A last line without its end was cut off in writing and is left out; any other damage throws Error with
/// file and line.
LogContent read_log(const std::filesystem::path& file);

/// The records of all of these logs one behind the other, under the first one's fingerprint. At least one file. Throws
/// Error for a log of another device, driver or number of ranks than the first, naming what differs.
LogContent read_logs(const std::vector<std::filesystem::path>& files);

/// A log that this process alone appends to, as long as it lives; made, with the fingerprint as its first line, where
/// there is none.
class LogWriter {
public:
    enum class Start : std::uint8_t { go_on, afresh };
    /// go_on: behind the records of a log of this device; one that was cut off in its first line begins again. afresh:
    /// what the log holds is dropped. Throws Error when another process has the log, when the file is no log or cannot
    /// be written, and when its log belongs to another device, driver or number of ranks, naming what differs.
    LogWriter(const std::filesystem::path& file, const Fingerprint& now, Start start);

    /// What it held at the start.
    [[nodiscard]] const LogContent& found() const { return found_; }
    /// Whether there was a beginning of a log that was not worth keeping.
    [[nodiscard]] bool began_again() const { return began_again_; }

    /// On the disk when it returns. Throws Error when it cannot be written.
    void append(const Record& record);

private:
    void read(const Fingerprint& now, Start start);
    void write(const std::string& line);

    std::string file_;
    AppendLog log_;
    LogContent found_;
    bool began_again_ = false;
};

}  // namespace orrery::calibrate
