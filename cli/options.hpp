// Options that several commands share.
#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "cli/scenario_flags.hpp"
#include "report/output_file.hpp"
#include "report/style.hpp"
#include "scenarios/scenario.hpp"

namespace CLI {
class App;
}

namespace orrery::cli {

/// SCENARIO, --set, and the usual keys as options of their own, which can stand for the file.
struct ScenarioOptions {
    std::string file;  ///< empty: flags make the scenario
    std::vector<std::string> set;
    ScenarioFlags flags;

    /// taken: options of the command that stand for something else than a flag of their name.
    void add_to(CLI::App& command, std::initializer_list<std::string_view> taken = {});
    /// What messages call it: the file, or the command line.
    [[nodiscard]] std::string source() const;
    /// As it stands in the file, which may be a pipe and is read each time, or as flags make it. Throws Error, also
    /// when there is neither.
    [[nodiscard]] nlohmann::json document() const;
    /// Throws Error.
    [[nodiscard]] scenarios::Scenario load() const;
    /// Only its cluster. Throws Error.
    [[nodiscard]] topology::ClusterSpec load_cluster() const;
    /// The command line that says the same: "orrery simulate FILE --set KEY=VALUE".
    [[nodiscard]] std::string command(std::string_view name) const;
    /// What is changed in the document. Throws Error for what is no change.
    [[nodiscard]] std::vector<scenarios::Override> overrides(const nlohmann::json& document) const;
    /// f(), whose errors that name a key and no file are of this scenario: what is found after it was read.
    template <class F>
    auto blamed(const F& f) const {
        try {
            return f();
        } catch (const Error& error) {
            throw error.pointer().empty() ? error : error.in_file(source());
        }
    }
};

/// --no-color and --quiet.
struct DisplayOptions {
    bool no_color = false;
    bool quiet = false;

    void add_to(CLI::App& command);
    /// Colour only on a terminal, without NO_COLOR and --no-color.
    [[nodiscard]] report::Style style() const;
};

/// Where text goes that the user asked for with an option: a file, standard output ("-") or, without the option,
/// nowhere. Files are opened at once, so that a wrong path fails before the work, and appear whole at finish().
class Output {
public:
    explicit Output(const std::string& path);

    [[nodiscard]] bool wanted() const { return to_stdout_ || file_.has_value(); }
    [[nodiscard]] bool to_stdout() const { return to_stdout_; }
    /// Throws Error when a file cannot be written; standard output is checked at the end of the program.
    void write(std::string_view text);
    /// Writes out what is left of the text: a full disk is met here at the latest.
    void complete();
    void finish();

private:
    bool to_stdout_;
    std::optional<report::OutputFile> file_;
};

/// Outputs that belong together: none appears unless there is room for all.
void finish_all(std::initializer_list<Output*> outputs);

/// Refuses output options that name one file twice, or a file that is also read.
void require_distinct(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

/// Writes to standard output.
void print(std::string_view text);

/// Tells a person on stderr what an answer leaves out: "orrery: note: trace.json: ...".
void note(const std::string& file, std::string_view text);

}  // namespace orrery::cli
