#include "cli/execute.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/error.hpp"
#include "base/host_name.hpp"
#include "cli/child.hpp"
#include "cli/launch.hpp"
#include "cli/post_mortem.hpp"
#include "kernels/processes.hpp"
#include "run/plan_file.hpp"
#include "run/progress.hpp"
#include "run/support.hpp"
#include "run/tokens.hpp"
#include "sim/predict.hpp"

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

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Ranks on this host that outlived their launcher.
void end_all(const fs::path& progress, std::uint32_t ranks) {
    const std::string here = host_name();
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        if (const auto trace = run::read_progress(run::progress_file(progress, rank));
            trace && trace->host == here && trace->pid > 1 && trace->state == run::RankState::running)
            kill(static_cast<pid_t>(trace->pid), SIGKILL);
}

/// How many processes make the run.
std::uint32_t processes_of(const scenarios::Scenario& scenario, const Execution& execution) {
    return execution.settings.only_rank ? 1 : scenario.plan.ranks();
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
        Launch launch = launch_here(ranks, execution.device);
        launch.hosts = execution.hosts;
        words = launcher_words(launch);
    }
    words.push_back(device_program().string());
    return words;
}

}  // namespace

Executed execute(const scenarios::Scenario& scenario, const Execution& execution) {
    require_ranks(scenario, execution.ranks);
    if (!scenario.perturbations.none())
        throw Error("", "/perturbations", "a real run has its own stragglers; perturbations are simulated only",
                    "leave them out");
    if (!scenario.other_jobs.empty())
        throw Error("", "/other_jobs", "a real run has the machine as it is; other jobs are simulated only",
                    "leave them out");
    run::require_executable(scenario.plan);
    if (!execution.hosts.empty()) check_hosts(execution.hosts);
    const strategies::Training& training = scenario.plan.training;
    const run::Tokens readable(execution.settings.data, scenario.plan.model.vocab, training.seq, scenario.seed);
    (void)readable;  // its constructor throws for a text that cannot be trained on
    const auto job = kernels::processes(kernels::environment);
    const bool member = job && job->ranks > 1;
    const std::uint32_t count = processes_of(scenario, execution);
    if (member && job->ranks != count)
        throw Error(fmt::format("this job has {} ranks, the run needs {}", job->ranks, count),
                    "start as many, or none");
    Folder folder(execution.keep);
    run::RunPlan plan{scenario.name, scenario.plan, execution.settings};
    if (execution.emulate) plan.settings.kernel_seconds = sim::kernel_seconds(scenario);
    write_text(folder / "plan.json", run::to_json(plan));
    std::vector<std::string> words = command_of(execution, count, member);
    for (const std::string& word :
         {std::string("run"), (folder / "plan.json").string(), std::string("--device"), execution.device,
          std::string("--communication"), execution.communication, std::string("--out"),
          (folder / "measured.json").string(), std::string("--progress"), (folder / "ranks").string()})
        words.push_back(word);
    std::error_code ignored;
    if (!member) fs::remove_all(folder / "ranks", ignored);  // what an earlier run left
    Watchdog watchdog(folder / "ranks", count, execution.stall);
    std::optional<Stall> stall;
    const Exit exit = run_child(words, [&] {
        stall = watchdog.look(seconds_now());
        return stall.has_value();
    });
    const bool first = !member || job->rank == 0;
    if (exit == Exit::done && (!first || fs::exists(folder / "measured.json")))
        return {first ? run::load_measured(folder / "measured.json") : run::MeasuredRun{}, !first};
    folder.keep();
    if (stall) end_all(folder / "ranks", count);
    throw RunFailure(post_mortem(plan, folder / "ranks", folder / "measured.json.steps", stall));
}

}  // namespace orrery::cli
