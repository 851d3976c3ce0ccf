// The measurement log: one JSON object a line, appended and flushed to the disk point by point, so that a calibration
// that is stopped, or dies, goes on where it was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

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

/// Appends to a log; creates it, with the fingerprint as its first line, when there is none.
class LogWriter {
public:
    /// Continues an existing log after `content.whole_bytes`. Throws Error when it cannot be written.
    LogWriter(const std::filesystem::path& file, const LogContent& content);
    ~LogWriter();
    LogWriter(const LogWriter&) = delete;
    LogWriter& operator=(const LogWriter&) = delete;

    /// On the disk when it returns. Throws Error when it cannot be written.
    void append(const Record& record);

private:
    void write(const std::string& line);

    std::string file_;
    int descriptor_ = -1;
};

/// The records of `file` when it exists and belongs to this device; an empty content with this fingerprint when there
/// is no such file. Throws Error when it belongs to another device, driver or number of ranks, naming what differs.
LogContent resume(const std::filesystem::path& file, const Fingerprint& now);

}  // namespace orrery::calibrate
