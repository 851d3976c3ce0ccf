// orrery calibrate: measure a device with orrery-device, and what to do with the profiles that come of it.
#include "cli/calibrate.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/file_replacement.hpp"
#include "base/temporary_folder.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/child.hpp"
#include "cli/command.hpp"
#include "cli/launch.hpp"
#include "cli/options.hpp"
#include "cli/points.hpp"
#include "scenarios/shipped.hpp"

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* calibrate_footer = R"(Examples:
  orrery calibrate --device cuda:0 --budget 5min --out h100-node.json
  orrery calibrate --device cuda --ranks 8 --suite collective,overlap --out nvlink.json
  orrery calibrate --device cuda --ranks 16 --hosts nodes --suite collective --out two-nodes.json
  orrery calibrate --device cpu --for scenarios/gpt2-xl-dgx-2.json --out cpu.json
  orrery calibrate --for scenarios/gpt2-xl-dgx-2.json --list points.json   # for `orrery-device calibrate --points`
  orrery calibrate show h100-node.json
  orrery calibrate compare h100 h100-node.json
  orrery calibrate check cpu.json --shapes 200
  orrery calibrate assemble cpu.json.log --out cpu.json     # of a calibration that was stopped
  orrery calibrate import nccl-tests all_reduce.txt --into h100-node.json

Points measured so far are kept in a log beside the profile: the same command goes on where it was stopped.)";

struct CalibrateOptions {
    std::string device = "cpu", budget = "5min", out, points, hosts, list;
    std::vector<std::string> suites, dtypes, scenarios, set;
    std::uint32_t ranks = 1;
    std::uint64_t seed = 1;
    bool fresh = false, quiet = false;
};

/// The points' file, for as long as it is needed.
struct PointsFile {
    explicit PointsFile(const std::string& text) { replace_file(path(), text); }
    [[nodiscard]] std::string path() const { return folder.path() / "points.json"; }
    TemporaryFolder folder{"calibrate"};
};

/// What follows --device among these words.
std::string device_of(const std::vector<std::string>& words) {
    const auto option = std::ranges::find(words, "--device");
    return option == words.end() ? "cpu" : *std::next(option);
}

std::string scenario_points(const CalibrateOptions& options) {
    std::vector<scenarios::Override> overrides;
    for (const std::string& text : options.set) overrides.push_back(scenarios::parse_override(text));
    std::vector<scenarios::Scenario> all;
    for (const std::string& name : options.scenarios)
        all.push_back(scenarios::load(scenarios::file_of(name), overrides));
    std::size_t left_out = 0;
    std::string text = points_json(all, options.ranks, left_out);
    if (left_out > 0 && !options.quiet)
        say(fmt::format("orrery: {} collectives among other numbers of ranks than {} are left to another run\n",
                        left_out, options.ranks));
    return text;
}

/// When a file was last written; none where there is no such file.
std::optional<fs::file_time_type> written(const std::string& file) {
    std::error_code absent;
    const auto time = fs::last_write_time(file, absent);
    return absent ? std::nullopt : std::optional(time);
}

Exit calibrate_device(const CalibrateOptions& options) {
    if (options.ranks == 0) throw Error("--ranks is 0", "at least 1");
    if (!options.list.empty()) {
        replace_file(options.list, scenario_points(options));
        return Exit::done;
    }
    std::optional<PointsFile> points;
    if (!options.scenarios.empty()) points.emplace(scenario_points(options));
    share_secret();
    Launch launch = launch_here(options.ranks, options.device);
    launch.hosts = options.hosts;
    if (!launch.hosts.empty()) (void)count_hosts(launch.hosts);
    StandardFiles files;  // the points go to the first rank that way where it may be on another host
    if (elsewhere(launch)) files.in = points ? points->path() : options.points;
    std::vector<std::string> words = launcher_words(launch);
    words.push_back(device_program().string());
    const auto add = [&](const char* name, const std::string& value) {
        if (value.empty()) return;
        words.emplace_back(name);
        words.push_back(value);
    };
    words.emplace_back("calibrate");
    add("--device", options.device);
    add("--budget", options.budget);
    add("--suite", join(options.suites, ","));
    add("--dtype", join(options.dtypes, ","));
    add("--points", !files.in.empty() ? "-" : points ? points->path() : options.points);
    add("--seed", fmt::format("{}", options.seed));
    add("--out", options.out);
    if (options.fresh) words.emplace_back("--fresh");
    if (options.quiet) words.emplace_back("--quiet");
    const auto before = written(options.out);
    const Exit exit = run_child(words, nullptr, files);
    if (exit == Exit::done && !options.out.empty() && written(options.out) == before)
        throw Error(options.out, "", "was written on the first rank's host, which does not share this folder",
                    "start from that host, or give an --out that both see");
    return exit;
}

void add_measuring(CLI::App& command, const std::shared_ptr<CalibrateOptions>& options) {
    command.add_option("--device", options->device, "cpu, cpu:4 (threads), cuda, cuda:1")->capture_default_str();
    command
        .add_option("--suite", options->suites,
                    "gemm, attention, pointwise, copy, collective, overlap, launch (default: all that can run)")
        ->delimiter(',')
        ->allow_extra_args(false);
    command.add_option("--budget", options->budget, "time for the suites, as in 90s or 5min")->capture_default_str();
    auto* const scenario =
        command
            .add_option("--for", options->scenarios,
                        "measure the kernels and collectives of this scenario exactly, before any suite; may be "
                        "repeated")
            ->type_name("SCENARIO")
            ->allow_extra_args(false);
    command
        .add_option("--list", options->list,
                    "write these kernels and collectives as the points that `orrery-device calibrate --points` takes, "
                    "for a machine that has it alone, and measure nothing")
        ->type_name("FILE")
        ->needs(scenario);
    command.add_option("--set", options->set, "override a key of these scenarios")
        ->type_name("PATH=VALUE")
        ->allow_extra_args(false)
        ->needs(scenario);
    command.add_option("--points", options->points, "measure the points of this file exactly, before any suite")
        ->type_name("FILE")
        ->excludes(scenario);
    command.add_option("--ranks", options->ranks, "processes, for collectives; started with mpirun")
        ->capture_default_str();
    command
        .add_option(
            "--hosts", options->hosts,
            "Open MPI host file, one host a line, as in: node1 slots=2; what is measured among hosts then stands "
            "for groups of as many ranks on as many nodes")
        ->type_name("FILE");
    command.add_option("--dtype", options->dtypes, "number formats (default: bf16 on a GPU, fp32 on a CPU)")
        ->delimiter(',')
        ->allow_extra_args(false);
    command.add_option("--seed", options->seed, "of the points that are chosen at random")->capture_default_str();
    command.add_option("--out", options->out, "profile to write (default: the device's name .json)")->type_name("FILE");
    command.add_flag("--fresh", options->fresh, "measure anew what the log of an earlier run holds");
    command.add_flag("--quiet,-q", options->quiet, "print nothing but errors");
}

void add_check(CLI::App& command, Exit& exit) {
    CLI::App* const check =
        command.add_subcommand("check", "measure shapes that a profile has not seen, and compare its predictions");
    const auto words = std::make_shared<std::vector<std::string>>();
    const auto ranks = std::make_shared<std::uint32_t>(1);
    const auto profile = std::make_shared<std::string>();
    check->add_option("PROFILE", *profile, "profile file")->required();
    check->add_option("--ranks", *ranks, "processes, for collectives")->capture_default_str();
    for (const auto& [name, help] : {std::pair{"--device", "cpu, cpu:4 (threads), cuda, cuda:1 (default: cpu)"},
                                     {"--suite", "gemm, pointwise, collective (default: gemm)"},
                                     {"--dtype", "number format"},
                                     {"--shapes", "random shapes a suite (default: 200)"},
                                     {"--seed", "of the random shapes (default: 7)"},
                                     {"--tolerance", "exit with 1 when a suite's median error is larger, in percent"},
                                     {"--worst", "shapes to list, a suite (default: 5)"}})
        check
            ->add_option_function<std::string>(
                name,
                [words, option = std::string(name)](const std::string& value) {
                    words->insert(words->end(), {option, value});
                },
                help)
            ->type_name("TEXT");
    check->footer("Example:\n  orrery calibrate check cpu.json --suite gemm,pointwise --shapes 200 --tolerance 5");
    check->callback([=, &exit] {
        share_secret();
        std::vector<std::string> all = launcher_words(launch_here(std::max(1U, *ranks), device_of(*words)));
        all.insert(all.end(), {device_program().string(), "check", *profile});
        all.insert(all.end(), words->begin(), words->end());
        exit = run_child(all);
    });
}

}  // namespace

void add_calibrate(CLI::App& program, Exit& exit) {
    CLI::App* const command =
        program.add_subcommand("calibrate", "measure a device and write its profile; show, compare, check, import");
    command->require_subcommand(0, 1);
    command->footer(calibrate_footer);
    const auto options = std::make_shared<CalibrateOptions>();
    add_measuring(*command, options);
    add_calibrate_show(*command);
    add_calibrate_compare(*command);
    add_calibrate_import(*command);
    add_calibrate_assemble(*command);
    add_check(*command, exit);
    command->callback([command, options, &exit] {
        if (command->get_subcommands().empty()) exit = calibrate_device(*options);
    });
}

}  // namespace orrery::cli
