// Options of the commands that go through many plans.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/interrupt.hpp"
#include "base/progress.hpp"
#include "cli/options.hpp"
#include "planning/journal.hpp"

namespace orrery::cli {

/// --csv, --json, --log, --fresh and --threads.
struct PlanningOptions {
    std::string csv, json, log;
    bool fresh = false;
    unsigned threads = 0;  ///< 0: all cores

    void add_to(CLI::App& command, const std::string& what);
    /// The log's path: as told, else beside the first output that is a file; "" where there is none.
    [[nodiscard]] std::filesystem::path log_file() const;
    [[nodiscard]] bool to_stdout() const { return csv == "-" || json == "-"; }
    [[nodiscard]] planning::Journal::Start start() const {
        return fresh ? planning::Journal::Start::afresh : planning::Journal::Start::go_on;
    }
    [[nodiscard]] unsigned cores() const;
};

/// While it lives, an interrupt says that the same command goes on from the log. Nothing without a log.
std::unique_ptr<UndoneWhenInterrupted> tell_when_interrupted(const std::filesystem::path& log);

}  // namespace orrery::cli
