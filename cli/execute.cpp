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
#include "base/read_file.hpp"
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

void require_ranks(const scenarios::Scenario& scenario, std::uint32_t ranks) {
    const strategies::Strategy& s = scenario.plan.strategy;
    if (ranks != 0 && ranks != scenario.plan.ranks())
        throw Error(fmt::format("{} ranks cannot run a plan of {} (tensor {} x pipeline {} x data {})", ranks,
                                scenario.plan.ranks(), s.tensor, s.pipeline, s.data),
                    "leave --ranks out, or change the strategy with --set strategy.data=...");
}

/// What a rank on another host printed: a line a step, then the document.
void split_printed(const fs::path& printed, const fs::path& steps, const fs::path& measured) {
    const std::string text = read_file(printed);
    const std::size_t document = text.starts_with('{') ? 0 : text.find("\n{") + 1;  // npos + 1: none
    const bool whole = document > 0 || text.starts_with('{');
    write_text(steps, whole ? text.substr(0, document) : text);
    if (whole) write_text(measured, text.substr(document));
}

/// The processes of a run and who starts them.
struct Ranks {
    std::uint32_t count = 1;
    bool first = true;  ///< this process returns what is measured
    Started started = Started::here;
    std::vector<std::string> launcher;  ///< words before the program
};

Ranks ranks_of(const scenarios::Scenario& scenario, const Execution& execution) {
    Ranks ranks;
    ranks.count = execution.settings.only_rank ? 1 : scenario.plan.ranks();
    const auto job = kernels::processes(kernels::environment);
    if (job && job->ranks > 1) {
        if (job->ranks != ranks.count)
            throw Error(fmt::format("this job has {} ranks, the run needs {}", job->ranks, ranks.count),
                        "start as many, or none");
        ranks.first = job->rank == 0;
        ranks.started = Started::by_job;
        return ranks;
    }
    Launch launch = launch_here(ranks.count, execution.device);
    launch.hosts = execution.hosts;
    if (elsewhere(launch)) ranks.started = Started::on_hosts;
    ranks.launcher = launcher_words(launch);
    return ranks;
}

/// Starts the ranks and waits for them; the folder holds the plan before, and what was measured afterwards. The first
/// rank may be on a host that does not see the folder: it then gets the plan and returns what it measured by its
/// standard input and output, which mpirun passes on.
Exit run_ranks(const Execution& execution, const Ranks& ranks, const Folder& folder, std::optional<Stall>& stall) {
    const bool elsewhere = ranks.started == Started::on_hosts;
    const std::string plan = folder / "plan.json", measured = folder / "measured.json", progress = folder / "ranks";
    std::vector<std::string> words = ranks.launcher;
    for (const std::string& word :
         {device_program().string(), std::string("run"), elsewhere ? "-" : plan, std::string("--device"),
          execution.device, std::string("--communication"), execution.communication, std::string("--out"),
          elsewhere ? "-" : measured, std::string("--progress"), progress})
        words.push_back(word);
    std::error_code ignored;
    if (ranks.started != Started::by_job) fs::remove_all(progress, ignored);  // what an earlier run left
    fs::create_directories(progress, ignored);
    const StandardFiles files = elsewhere ? StandardFiles{plan, folder / "printed"} : StandardFiles{};
    Watchdog watchdog(progress, ranks.count, execution.stall, files.out);
    const auto stands_still = [&] {
        stall = watchdog.look(seconds_now());
        return stall.has_value();
    };
    const Exit exit = run_child(words, stands_still, files);
    if (elsewhere) split_printed(files.out, measured + ".steps", measured);
    return exit;
}

/// Throws Error for what cannot be executed.
void require_runnable(const scenarios::Scenario& scenario, const Execution& execution) {
    require_ranks(scenario, execution.ranks);
    if (!scenario.perturbations.none())
        throw Error("", "/perturbations", "a real run has its own stragglers; perturbations are simulated only",
                    "leave them out");
    if (!scenario.other_jobs.empty())
        throw Error("", "/other_jobs", "a real run has the machine as it is; other jobs are simulated only",
                    "leave them out");
    run::require_executable(scenario.plan);
    if (!execution.hosts.empty()) (void)count_hosts(execution.hosts);
    const run::Tokens readable(execution.settings.data, scenario.plan.model.vocab, scenario.plan.training.seq,
                               scenario.seed);
    (void)readable;  // its constructor throws for a text that cannot be trained on
}

}  // namespace

Executed execute(const scenarios::Scenario& scenario, const Execution& execution) {
    require_runnable(scenario, execution);
    const Ranks ranks = ranks_of(scenario, execution);
    Folder folder(execution.keep);
    run::RunPlan plan{scenario.name, scenario.plan, execution.settings};
    if (execution.emulate) plan.settings.kernel_seconds = sim::kernel_seconds(scenario);
    write_text(folder / "plan.json", run::to_json(plan));
    std::optional<Stall> stall;
    const Exit exit = run_ranks(execution, ranks, folder, stall);
    if (exit == Exit::done && (!ranks.first || fs::exists(folder / "measured.json")))
        return {ranks.first ? run::load_measured(folder / "measured.json") : run::MeasuredRun{}, !ranks.first};
    folder.keep();
    if (stall) end_all(folder / "ranks", ranks.count);
    throw RunFailure(post_mortem(plan, folder / "ranks", folder / "measured.json.steps", ranks.started, stall));
}

}  // namespace orrery::cli
