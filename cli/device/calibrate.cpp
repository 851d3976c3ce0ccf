// orrery-device calibrate: measure a device, point by point, and write its profile.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "base/progress.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "calibrate/measure/assemble.hpp"
#include "calibrate/measure/campaign.hpp"
#include "calibrate/measure/host.hpp"
#include "calibrate/measure/training_launch.hpp"
#include "cli/device/commands.hpp"
#include "documents/document.hpp"
#include "documents/value.hpp"

namespace orrery::cli {

namespace {

using calibrate::Campaign;
using calibrate::Outcome;

/// The machine is watched for this long before and after.
constexpr double watch_seconds = 0.3;

struct CalibrateOptions {
    std::string device = "cpu", budget = "5min", points, out;
    std::vector<std::string> suites, dtypes;
    std::uint64_t seed = 1;
    bool fresh = false, quiet = false, reduced_checks = false;
};

std::string list_of_suites() {
    std::vector<std::string_view> names;
    for (const auto& suite : calibrate::suites()) names.push_back(suite.name);
    return join(names);
}

/// The points' text on every rank: the first one's file, because hosts need not share any.
std::string points_text(const CalibrateOptions& options, kernels::Communicator* communicator) {
    if (options.points.empty()) return "";
    const bool first = communicator == nullptr || communicator->rank() == 0;
    const std::string text =
        first ? text_of(options.points, "--points names a file that orrery calibrate --for writes") : "";
    return communicator == nullptr ? text : communicator->from_first(text);
}

std::vector<calibrate::Subject> read_points(const std::string& text, const std::string& file) {
    constexpr const char* remedy = R"(as in {"points": [{"copy": {"kind": "device_to_device", "bytes": 4096}}]})";
    const nlohmann::json document = documents::parse_document(text, file, {.example = remedy});
    const documents::Value list = documents::Value(document, file, remedy).only({"points"}).at("points");
    std::vector<calibrate::Subject> points;
    for (const documents::Value& point : list.list()) {
        try {
            points.push_back(calibrate::subject_from(point.json()));
        } catch (const Error& error) {
            point.fail(error.message(), error.hint());
        }
    }
    return points;
}

/// A CPU computes in fp32 best; a GPU trains in bf16.
std::vector<kernels::Dtype> formats(const CalibrateOptions& options, const kernels::Device& device) {
    std::vector<kernels::Dtype> out;
    for (const std::string& name : options.dtypes) out.push_back(kernels::dtype_from(name));
    if (out.empty()) out.push_back(device.facts().kind == "cpu" ? kernels::Dtype::fp32 : kernels::Dtype::bf16);
    return out;
}

/// Points in a format that the device lacks, as those of an fp16 scenario on a CPU, are measured in one that it has:
/// each kernel once.
std::vector<calibrate::Subject> in_known_formats(const std::vector<calibrate::Subject>& points, kernels::Dtype known,
                                                 const kernels::Device& device) {
    std::vector<calibrate::Subject> out;
    std::set<std::string> seen;
    for (calibrate::Subject point : points) {
        if (auto* const kernel = std::get_if<kernels::Kernel>(&point);
            kernel != nullptr && !calibrate::runs(device, *kernel)) {
            const kernels::Kernel other = kernels::with_dtype(*kernel, known);
            if (calibrate::runs(device, other)) *kernel = other;
        }
        if (seen.insert(calibrate::to_text(point)).second) out.push_back(std::move(point));
    }
    return out;
}

/// points: the text of options.points.
calibrate::Plan make_plan(const CalibrateOptions& options, const std::string& points, const kernels::Device& device) {
    calibrate::Plan plan;
    plan.dtypes = formats(options, device);
    if (!options.points.empty())
        plan.points = in_known_formats(read_points(points, options.points), plan.dtypes.front(), device);
    for (const std::string& name : options.suites) plan.suites.push_back(&calibrate::suite_named(name));
    if (options.suites.empty() && options.points.empty())
        for (const auto& suite : calibrate::suites()) plan.suites.push_back(&suite);
    plan.budget_seconds = budget_seconds(options.budget);
    plan.seed = options.seed;
    plan.check_points_whole = !options.reduced_checks;
    if (device.facts().kind == "cpu") plan.rule = {.target = 0.01, .max_seconds = 0.06};
    return plan;
}

/// Progress in seconds.
void draw(Progress& bar, const calibrate::Progress& progress) {
    const auto done = static_cast<std::size_t>(progress.elapsed_seconds),
               total = static_cast<std::size_t>(progress.elapsed_seconds + progress.left_seconds + 0.5);
    bar.show(fmt::format("{} ({} points)", progress.suite, progress.points), done, total);
}

void print_summary(const CalibrateOptions& options, const calibrate::Assembled& assembled, const Outcome& outcome) {
    const auto& profile = assembled.profile;
    fmt::print("{}: {} points measured{}, {} failed\n", options.out, outcome.measured,
               outcome.resumed > 0 ? fmt::format(", {} from an earlier run", outcome.resumed) : "",
               outcome.failures.size());
    for (const std::string& skipped : outcome.skipped) fmt::print("left out {}\n", skipped);
    for (const std::string& failure : outcome.failures) fmt::print("failed {}\n", failure);
    for (const std::string& dropped : assembled.dropped)
        fmt::print("dropped {}: a damaged reading; --fresh measures again\n", dropped);
    for (const auto& [suite, error] : profile.held_out)
        fmt::print("held-out error of {}: median {:.1f}%, 90th percentile {:.1f}%, {} points\n", suite,
                   100 * error.median, 100 * error.p90, error.points);
    fmt::print("other work kept {:.0f}% of the processors busy before, {:.0f}% after\n", 100 * profile.load->before,
               100 * profile.load->after);
}

std::string default_out(const std::string& device) {
    std::string name = device;
    for (char& c : name)
        if (c == ':') c = '-';
    return name + ".json";
}

/// Rank 0 keeps the log and writes the profile; the others measure along.
Exit lead(CalibrateOptions options, const std::string& points, kernels::Device& device,
          kernels::Communicator* communicator) {
    if (options.out.empty()) options.out = default_out(options.device);
    const std::filesystem::path log_file = options.out + ".log";
    auto fingerprint = calibrate::fingerprint(device, communicator);
    fingerprint.load_before = calibrate::others_share(watch_seconds);
    using Start = calibrate::LogWriter::Start;
    calibrate::LogWriter writer(log_file, fingerprint, options.fresh ? Start::afresh : Start::go_on);
    calibrate::LogContent content = writer.found();
    if (writer.began_again())
        say(fmt::format("orrery-device: {} was cut off in its first line: measuring begins again\n",
                        log_file.string()));
    const Outcome outcome = [&] {
        Progress bar("calibrate", 0, options.quiet);
        calibrate::Hooks hooks;
        hooks.stop = stop_requested;
        hooks.progress = [&](const calibrate::Progress& progress) { draw(bar, progress); };
        return Campaign(device, communicator, make_plan(options, points, device), hooks).run(content, &writer);
    }();
    if (outcome.stopped) {
        say(fmt::format("orrery-device: stopped; {} points are kept in {}: the same command goes on from there\n",
                        content.records.size(), log_file.string()));
        return Exit::run_failure;
    }
    const auto assembled = calibrate::assemble(content, std::filesystem::path(options.out).stem().string(),
                                               calibrate::others_share(watch_seconds));
    calibrate::save_profile(assembled.profile, options.out);
    if (!options.quiet) print_summary(options, assembled, outcome);
    return Exit::done;
}

Exit calibrate_device(const CalibrateOptions& options) {
    (void)stop_requested();  // signals are held back before there are other threads
    const auto device = kernels::open_device(options.device);
    const auto communicator = kernels::world(*device);
    const std::string points = points_text(options, communicator.get());
    if (communicator == nullptr || communicator->rank() == 0) return lead(options, points, *device, communicator.get());
    calibrate::LogContent nothing;
    (void)Campaign(*device, communicator.get(), make_plan(options, points, *device), {}).run(nothing, nullptr);
    return Exit::done;
}

}  // namespace

void add_device_calibrate(CLI::App& program, Exit& exit) {
    CLI::App* const command = program.add_subcommand("calibrate", "measure a device and write its profile");
    const auto options = std::make_shared<CalibrateOptions>();
    command->add_option("--device", options->device, "cpu, cpu:4 (threads), cuda, cuda:1")->capture_default_str();
    command->add_option("--suite", options->suites, "what to measure: " + list_of_suites() + " (default: all)")
        ->delimiter(',')
        ->allow_extra_args(false);
    command->add_option("--budget", options->budget, "time for the suites; --points come on top")
        ->capture_default_str();
    command
        ->add_option(
            "--points", options->points,
            "measure these points exactly, before any suite; in fp32 where the device has no such format; - for "
            "standard input of the first rank")
        ->type_name("FILE");
    command->add_flag(
        "--reduced-checks", options->reduced_checks,
        "check the results of --points at a reduced shape, as those of suites: large ones take the host long");
    command->add_option("--dtype", options->dtypes, "number formats (default: bf16 on a GPU, fp32 on a CPU)")
        ->delimiter(',')
        ->allow_extra_args(false);
    command->add_option("--seed", options->seed, "of the points that are chosen at random")->capture_default_str();
    command->add_option("--out", options->out,
                        "profile to write (default: the device's name .json); the log beside it");
    command->add_flag("--fresh", options->fresh, "measure anew what the log holds already");
    command->add_flag("--quiet,-q", options->quiet, "print nothing but errors");
    command->footer(
        "Examples:\n"
        "  orrery-device calibrate --device cuda:0 --budget 5min --out h100-node.json\n"
        "  mpirun -n 2 orrery-device calibrate --suite collective --out mpi.json");
    command->callback([options, &exit] { exit = calibrate_device(*options); });
}

}  // namespace orrery::cli
