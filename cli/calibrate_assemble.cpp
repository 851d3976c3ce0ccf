// orrery calibrate assemble: the profile of what measurement logs hold.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/measure/assemble.hpp"
#include "calibrate/measure/log.hpp"
#include "cli/calibrate.hpp"
#include "cli/options.hpp"

namespace orrery::cli {

namespace {

struct Assembly {
    std::vector<std::string> logs;
    std::string out;
};

void assemble_logs(const Assembly& options) {
    require_distinct({options.out}, options.logs);
    const calibrate::LogContent content = calibrate::read_logs({options.logs.begin(), options.logs.end()});
    const auto assembled = calibrate::assemble(content, std::filesystem::path(options.out).stem().string(),
                                               content.fingerprint.load_before);
    calibrate::save_profile(assembled.profile, options.out);
    fmt::print("{}: of {} points\n{}", options.out, content.records.size(), held_out_table(assembled.profile));
    for (const std::string& dropped : assembled.dropped) fmt::print("dropped {}: a damaged reading\n", dropped);
}

}  // namespace

void add_calibrate_assemble(CLI::App& calibrate) {
    CLI::App* const command = calibrate.add_subcommand(
        "assemble", "make a profile of measurement logs: of a calibration that was stopped, or of several of a device");
    const auto options = std::make_shared<Assembly>();
    command->add_option("LOG", options->logs, "logs that calibrations keep beside their profiles")->required();
    command->add_option("--out", options->out, "profile to write")->required()->type_name("FILE");
    command->footer(
        "A point that several logs hold counts as the last of them has it.\n"
        "Example:\n  orrery calibrate assemble night.json.log morning.json.log --out node.json");
    command->callback([options] { assemble_logs(*options); });
}

}  // namespace orrery::cli
