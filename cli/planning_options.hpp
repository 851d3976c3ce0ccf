// Options of the commands that go through many plans.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/interrupt.hpp"
#include "base/progress.hpp"
#include "cli/format.hpp"
#include "cli/options.hpp"
#include "cli/ranks.hpp"
#include "planning/journal.hpp"

namespace orrery::cli {

/// --csv, --json and --html: where the plans go besides standard output; and --format, its form.
struct PlanOutputOptions {
    std::string csv, json, html;
    FormatOption format;

    void add_to(CLI::App& command, const std::string& what);
    [[nodiscard]] std::vector<std::string> files() const { return {csv, json, html, format.path()}; }
};

/// The forms of a report on many plans; each is made where it is asked for only.
struct PlanForms {
    std::function<std::string()> csv, json, html, text;
};

/// The files of those options, opened before the work.
class PlanOutputs {
public:
    /// Throws Error where one cannot be written, and for a page that this program was built without.
    explicit PlanOutputs(const PlanOutputOptions& options);
    /// Writes them and, unless one went to standard output, prints the text; then all are in place.
    void finish(const PlanForms& forms, const DisplayOptions& display);

private:
    Output csv_, json_, html_;
    FormatOption format_;
};

/// --log, --fresh and --threads, and the outputs.
struct PlanningOptions {
    PlanOutputOptions outputs;
    std::string log;
    bool fresh = false;
    unsigned threads = 0;  ///< 0: all cores

    void add_to(CLI::App& command, const std::string& what);
    /// The log's path: as told, else beside the first output that is a file; "" where there is none.
    [[nodiscard]] std::filesystem::path log_file() const;
    /// The outputs and the log. Throws Error where two are one file, or one is read.
    void require_distinct_files(const std::string& input) const;
    [[nodiscard]] planning::Journal::Start start() const {
        return fresh ? planning::Journal::Start::afresh : planning::Journal::Start::go_on;
    }
    [[nodiscard]] unsigned cores(const Ranks& ranks) const;
};

/// While it lives, an interrupt says that the same command goes on from the log. Nothing without a log.
std::unique_ptr<UndoneWhenInterrupted> tell_when_interrupted(const std::filesystem::path& log);

}  // namespace orrery::cli
