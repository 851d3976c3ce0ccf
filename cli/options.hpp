// Options that several commands share.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/output_file.hpp"
#include "report/style.hpp"
#include "scenarios/request.hpp"

namespace CLI {
class App;
}

namespace orrery::cli {

/// SCENARIO, --set, and the usual keys as options of their own, which can stand for the file.
struct ScenarioOptions : scenarios::Request {
    ScenarioOptions();
    /// taken: options of the command that stand for something else than a usual key of their name.
    void add_to(CLI::App& command, std::initializer_list<std::string_view> taken = {});

private:
    void add_keys_to(CLI::App& command, std::initializer_list<std::string_view> taken);
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
