#include "cli/execute.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/error.hpp"
#include "cli/child.hpp"
#include "cli/launch.hpp"
#include "cli/post_mortem.hpp"
#include "kernels/processes.hpp"
#include "run/plan_file.hpp"
#include "run/support.hpp"
#include "run/tokens.hpp"

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;

/// A folder of this process's own; it stays when the run fails.
class Folder {
public:
    explicit Folder(const std::string& given)
        : path_(given.empty() ? fs::temp_directory_path() / fmt::format("orrery-run-{}", ::getpid())
                              : fs::path(given)) {
        std::error_code failed;
        fs::create_directories(path_, failed);
        if (failed)
            throw Error(path_.string(), "", fmt::format("cannot be made: {}", failed.message()),
                        "is there room in the folder for temporary files?");
    }
    ~Folder() {
        std::error_code ignored;
        if (!kept_) fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    void keep() { kept_ = true; }
    [[nodiscard]] fs::path operator/(const char* name) const { return path_ / name; }

private:
    fs::path path_;
    bool kept_ = false;
};

void write_text(const fs::path& file, const std::string& text) {
    std::ofstream out(file);
    out << text;
    out.close();
    if (!out) throw Error(file.string(), "", "cannot be written", "is there room in the folder?");
}

/// "cpu:4" has four threads a rank.
std::uint32_t threads_of(const std::string& device) {
    const std::size_t colon = device.find(':');
    if (colon == std::string::npos || !device.starts_with("cpu")) return 1;
    try {
        return static_cast<std::uint32_t>(std::stoul(device.substr(colon + 1)));
    } catch (const std::exception&) {
        throw Error(fmt::format("device \"{}\" has no number of threads behind its colon", device), "such as cpu:4");
    }
}

void require_ranks(const scenarios::Scenario& scenario, std::uint32_t ranks) {
    const strategies::Strategy& s = scenario.plan.strategy;
    if (ranks != 0 && ranks != scenario.plan.ranks())
        throw Error(fmt::format("{} ranks cannot run a plan of {} (tensor {} x pipeline {} x data {})", ranks,
                                scenario.plan.ranks(), s.tensor, s.pipeline, s.data),
                    "leave --ranks out, or change the strategy with --set strategy.data=...");
}

std::vector<std::string> command_of(const Execution& execution, std::uint32_t ranks, bool member) {
    std::vector<std::string> words;
    if (!member) {
        Launch launch{.ranks = ranks,
                      .hosts = execution.hosts,
                      .threads = threads_of(execution.device),
                      .cores = std::max(1U, std::thread::hardware_concurrency()),
                      .root = ::geteuid() == 0,
                      .more = {}};
        words = launcher_words(launch);
    }
    words.push_back(device_program().string());
    return words;
}

}  // namespace

Executed execute(const scenarios::Scenario& scenario, const Execution& execution) {
    require_ranks(scenario, execution.ranks);
    run::require_executable(scenario.plan);
    if (!scenario.perturbations.none())
        throw Error("", "/perturbations", "a real run has its own stragglers; perturbations are simulated only",
                    "leave them out");
    if (!scenario.other_jobs.empty())
        throw Error("", "/other_jobs", "a real run has the machine as it is; other jobs are simulated only",
                    "leave them out");
    if (!execution.hosts.empty()) check_hosts(execution.hosts);
    const strategies::Training& training = scenario.plan.training;
    const run::Tokens readable(execution.settings.data, scenario.plan.model.vocab, training.seq, scenario.seed);
    (void)readable;  // its constructor throws for a text that cannot be trained on
    const auto job = kernels::processes(kernels::environment);
    const bool member = job && job->ranks > 1;
    if (member && job->ranks != scenario.plan.ranks())
        throw Error(fmt::format("this job has {} ranks, the plan needs {}", job->ranks, scenario.plan.ranks()),
                    "start as many as the plan has");
    Folder folder(execution.keep);
    const run::RunPlan plan{scenario.name, scenario.plan, execution.settings};
    write_text(folder / "plan.json", run::to_json(plan));
    std::vector<std::string> words = command_of(execution, scenario.plan.ranks(), member);
    for (const std::string& word : {std::string("run"), (folder / "plan.json").string(), std::string("--device"),
                                    execution.device, std::string("--out"), (folder / "measured.json").string(),
                                    std::string("--progress"), (folder / "ranks").string()})
        words.push_back(word);
    const Exit exit = run_child(words);
    const bool first = !member || job->rank == 0;
    if (exit == Exit::done && (!first || fs::exists(folder / "measured.json")))
        return {first ? run::load_measured(folder / "measured.json") : run::MeasuredRun{}, !first};
    folder.keep();
    throw RunFailure(post_mortem(plan, folder / "ranks", folder / "measured.json.steps"));
}

}  // namespace orrery::cli
