#include "cli/validate_run.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/terminal.hpp"
#include "calibrate/profile_store.hpp"
#include "cli/child.hpp"
#include "cli/launch.hpp"
#include "cli/machine_load.hpp"
#include "cli/options.hpp"
#include "report/compare.hpp"
#include "report/json.hpp"
#include "report/measured.hpp"
#include "sim/predict.hpp"
#include "topology/catalog.hpp"
#include "validate/executed.hpp"

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct Configuration {
    std::string file, name;
    std::vector<std::string> set;
    scenarios::Scenario scenario;
};

Configuration configuration(const std::string& file, const std::string& overrides) {
    Configuration one{file, fs::path(file).stem().string(), {}, {}};
    std::vector<scenarios::Override> parsed;
    std::istringstream words(overrides);
    for (std::string word; words >> word;) {
        one.set.push_back(word);
        parsed.push_back(scenarios::parse_override(word));
        one.name += ' ' + word.substr(word.find('.') + 1);
    }
    one.scenario = scenarios::load(file, parsed);
    return one;
}

/// A profile for each number of ranks, because ranks that compute at once share caches and memory, and of hosts. Throws
/// Error where the scenario's cluster has not as many nodes as there are hosts.
std::string profile_of(const ValidateRun& options, const Configuration& one) {
    std::string name = fmt::format("{}-{}ranks", options.device, one.scenario.plan.ranks());
    if (!options.hosts.empty()) {
        const std::uint32_t hosts = count_hosts(options.hosts), nodes = topology::build(one.scenario.cluster).nodes();
        if (hosts != nodes)
            throw Error(one.file, "/cluster/nodes",
                        fmt::format("is {}; {} names {} hosts", nodes, options.hosts, hosts),
                        fmt::format("--case \"cluster.nodes={} ...\"", hosts));
        name += fmt::format("-{}hosts", hosts);
    }
    return (fs::path(options.profiles) / (name + ".json")).string();
}

/// Measures what the configuration needs and the profile lacks.
void calibrate(const ValidateRun& options, const Configuration& one, const std::string& profile) {
    const std::uint32_t ranks = one.scenario.plan.ranks();
    std::vector<std::string> words{fs::read_symlink("/proc/self/exe").string(),
                                   "calibrate",
                                   "--device",
                                   options.device,
                                   "--for",
                                   one.file,
                                   "--ranks",
                                   fmt::format("{}", ranks),
                                   "--suite",
                                   "launch",
                                   "--budget",
                                   "2min",
                                   "--out",
                                   profile,
                                   "--quiet"};
    if (!options.hosts.empty()) words.insert(words.end(), {"--hosts", options.hosts});
    for (const std::string& set : one.set) {
        words.emplace_back("--set");
        words.push_back(set);
    }
    if (run_child(words) != Exit::done)
        throw RunFailure(fmt::format("{}: the calibration failed; its message is above", one.name));
}

/// Seconds that the kernels of the busiest rank may take more or less, by the profile's own uncertainty.
double half_width(const strategies::StepProgram& step, const calibrate::Predictor& predictor) {
    double most = 0;
    for (const strategies::Program& program : step.programs) {
        double sum = 0;
        for (const strategies::Op& op : program.ops)
            if (const auto* compute = std::get_if<strategies::Compute>(&op.what)) {
                const calibrate::Estimate estimate = predictor.kernel(step.kernels[compute->kernel]);
                sum += estimate.seconds * estimate.uncertainty;
            }
        most = std::max(most, sum);
    }
    return most;
}

/// The report of a step, predicted or measured, with all its operations.
template <class Step>
ordered_json document(const scenarios::Scenario& scenario, const Step& step, const ordered_json& more) {
    std::string text;
    report::json_with_operations(scenario, step, more, [&](std::string_view piece) { text += piece; });
    return ordered_json::parse(text);
}

validate::ExecutedRow validate_one(const ValidateRun& options, Configuration one) {
    const std::string profile = profile_of(options, one);
    calibrate(options, one, profile);
    one.scenario.profile = profile;
    one.scenario.plan.training.software = hardware::Software::orrery;  // which runs it
    one.scenario.plan.training.permute_fusion = true;                  // by kernels of its own
    calibrate::ProfileStore profiles;
    const sim::Prediction predicted =
        sim::predict(one.scenario, profiles,
                     {.keep_trace = true, .scale_factor = false, .advice = false, .unroll = true, .fold = false});
    Execution execution;
    execution.device = options.device;
    execution.hosts = options.hosts;
    execution.settings.steps = options.steps;
    execution.settings.seed = one.scenario.seed;
    const Executed executed = execute(one.scenario, execution);
    const report::MeasuredStep measured = report::measured_step(
        one.scenario, executed.measured, options.wall ? report::Clock::wall : report::Clock::undisturbed);
    const report::Comparison comparison = report::compare(
        document(one.scenario, predicted, ordered_json::object()), "the prediction",
        document(one.scenario, measured, {{"measured", report::measured_facts(executed.measured)}}), "the run");
    validate::ExecutedRow row{.name = one.name,
                              .predicted = predicted.step_time_s,
                              .half_width = half_width(predicted.program, profiles.find(profile)),
                              .measured = measured.step_time_s,
                              .wall = executed.measured.step_seconds(),
                              .spread = executed.measured.step_spread(),
                              .op_error = comparison.median_op_error};
    if (!comparison.groups.empty()) {
        const report::Pair& largest = comparison.groups.front().seconds;
        row.largest = fmt::format("{} {:+.1f}%", largest.name, 100 * largest.difference() / measured.step_time_s);
    }
    return row;
}

/// What a reader of wall times must know of the machine. "" where others took less than is worth saying.
std::string disturbed(double cores, const ValidateRun& options, std::string_view when) {
    const unsigned all = std::thread::hardware_concurrency();
    constexpr double worth_saying = 0.05;  // of the machine
    if (cores < worth_saying * all) return "";
    const char* const remedy = options.wall
                                   ? "wait until they are done, or leave --wall out: the undisturbed step counts the "
                                     "CPU time of each operation"
                                   : "wait until they are done: caches, memory and the calibration suffer too";
    return fmt::format("other processes {} {:.1f} of {} cores of this machine: {}\n", when, cores, all, remedy);
}

/// Looks for a moment before anything of ours runs.
std::string disturbed_before(const ValidateRun& options) {
    const OtherLoad others;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    return disturbed(others.cores(), options, "take");
}

}  // namespace

Exit validate_run(const ValidateRun& options) {
    require_distinct({options.json, options.svg}, options.scenarios);
    std::vector<Configuration> all;
    for (const std::string& file : options.scenarios)
        for (const std::string& overrides : options.cases.empty() ? std::vector<std::string>{""} : options.cases)
            all.push_back(configuration(file, overrides));
    Output json(options.json), svg(options.svg);
    fs::create_directories(options.profiles);
    if (!options.quiet) say(fmt::format("{}", disturbed_before(options)));
    const OtherLoad others;
    std::vector<validate::ExecutedRow> rows;
    for (const Configuration& one : all) {
        rows.push_back(validate_one(options, one));
        if (!options.quiet)
            say(fmt::format("{} of {}: {} {:+.1f}%\n", rows.size(), all.size(), one.name, 100 * rows.back().error()));
    }
    const std::string remark = disturbed(others.cores(), options, "took");
    if (json.wanted()) json.write(validate::to_json(rows).dump(2) + '\n');
    if (svg.wanted()) svg.write(validate::to_svg(rows));
    if (!json.to_stdout() && !svg.to_stdout() && !options.quiet) print(validate::to_text(rows) + remark);
    finish_all({&json, &svg});
    return 100 * validate::summary(rows).median <= options.tolerance_percent ? Exit::done : Exit::outside_tolerance;
}

}  // namespace orrery::cli
