// orrery profile import, orrery profile show.
#include "calibrate/profile.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/text.hpp"
#include "calibrate/import.hpp"
#include "calibrate/profile_store.hpp"
#include "cli/calibrate.hpp"
#include "cli/command.hpp"
#include "cli/format.hpp"
#include "cli/options.hpp"
#include "report/coverage.hpp"
#include "report/explain.hpp"

namespace orrery::cli {

namespace {

constexpr const char* profile_footer = R"(Examples:
  orrery profile show a100
  orrery profile import h100 --from measurements/ --out h100.json)";

struct Show {
    std::string name;
    FormatOption format;
};

void show(const Show& options) {
    calibrate::ProfileStore store;
    const calibrate::Profile& profile = store.find(options.name).profile();
    const auto table = [&] {
        return fmt::format("profile {} of {}, made by: {}\n\n{}\n{}\n{}", profile.name, profile.device, profile.made_by,
                           coverage_table(profile), report::constants_table(profile), held_out_table(profile));
    };
    options.format.print({.text = table,
                          .csv = [&] { return report::coverage_records(profile).csv(); },
                          .json = [&] { return profile_json(profile); }},
                         false);
}

struct Import {
    std::string name, from, out;
};

void import_profile(const Import& options) {
    const calibrate::Profile profile = calibrate::import_tables(options.name, options.from);
    calibrate::save_profile(profile, options.out);
    print(fmt::format("{}: {} gemm, {} attention, {} memory-bound and {} collective tables\n", options.out,
                      profile.gemm.size(), profile.attention.size(), profile.pointwise.size(),
                      profile.collectives.size()));
}

}  // namespace

void add_profile(CLI::App& program, Exit&) {
    CLI::App* const command = program.add_subcommand("profile", "show a profile, or make one from published tables");
    command->require_subcommand(1);
    command->footer(profile_footer);

    CLI::App* const shown = command->add_subcommand("show", "coverage, constants with their origins, held-out errors");
    const auto what = std::make_shared<Show>();
    shown->add_option("PROFILE", what->name, "name of a shipped profile, or a file")->required();
    what->format.add_to(*shown, "a line a table of the profile");
    shown->footer("Example:\n  orrery profile show a100");
    shown->callback([what] { show(*what); });

    CLI::App* const imported = command->add_subcommand("import", "make a profile from published tables");
    const auto options = std::make_shared<Import>();
    imported->add_option("NAME", options->name, "the GPU: " + join(calibrate::importable()))->required();
    imported->add_option("--from", options->from, "folder of tables (gemm/, attention/, collectives/, ...)")
        ->required()
        ->type_name("FOLDER");
    imported->add_option("--out", options->out, "profile file to write")->required()->type_name("FILE");
    imported->footer("Example:\n  orrery profile import h100 --from measurements/ --out h100.json");
    imported->callback([options] { import_profile(*options); });
}

}  // namespace orrery::cli
