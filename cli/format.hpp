// --format table|csv|json: what standard output holds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace orrery::cli {

/// The answer of a command in each form; made where it is asked for only.
struct Forms {
    std::function<std::string()> text, csv, json;
};

class FormatOption {
public:
    /// csv: what that form holds, in words of the help: "a line a stage".
    void add_to(CLI::App& command, const std::string& csv);

    /// Whether programs read it: a form of standard output that nothing else may stand on.
    [[nodiscard]] bool for_programs() const { return word_ != "table"; }
    /// For require_distinct: "-" where standard output is taken, else "".
    [[nodiscard]] std::string path() const { return for_programs() ? "-" : ""; }
    /// Prints the form that was asked for; the table unless `silent`.
    void print(const Forms& forms, bool silent) const;

private:
    std::string word_ = "table";
};

}  // namespace orrery::cli
