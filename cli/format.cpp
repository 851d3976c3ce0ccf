#include "cli/format.hpp"

#include <CLI/CLI.hpp>

#include "cli/options.hpp"

namespace orrery::cli {

void FormatOption::add_to(CLI::App& command, const std::string& csv) {
    command
        .add_option("--format", word_,
                    "of standard output: table, csv (" + csv +
                        ") or json; numbers of the last two are in SI units and to the last bit")
        ->check(CLI::IsMember({"table", "csv", "json"}))
        ->type_name("FORM");
}

void FormatOption::print(const Forms& forms, bool silent) const {
    if (word_ == "csv")
        cli::print(forms.csv());
    else if (word_ == "json")
        cli::print(forms.json());
    else if (!silent)
        cli::print(forms.text());
}

}  // namespace orrery::cli
