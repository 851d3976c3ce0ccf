#include "cli/execute.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <numeric>
#include <optional>

#include "base/error.hpp"
#include "base/file_replacement.hpp"
#include "base/host_name.hpp"
#include "base/read_file.hpp"
#include "cli/child.hpp"
#include "cli/launch.hpp"
#include "cli/post_mortem.hpp"
#include "cli/run_folder.hpp"
#include "cli/stopped_processes.hpp"
#include "kernels/processes.hpp"
#include "run/plan_file.hpp"
#include "run/progress.hpp"
#include "run/support.hpp"
#include "run/tokens.hpp"
#include "sim/predict.hpp"

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_printed_bytes = std::uint64_t{4} << 30U;  // times of every operation of every rank

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
    for (const StoppedProcess& stopped : stopped_processes(::getpid())) kill(stopped.process, SIGKILL);
}

void require_ranks(const scenarios::Scenario& scenario, std::uint32_t ranks) {
    const strategies::Strategy& s = scenario.plan.strategy;
    if (ranks != 0 && ranks != scenario.plan.ranks())
        throw Error(fmt::format("{} ranks cannot run a plan of {} (tensor {} x context {} x pipeline {} x data {})",
                                ranks, scenario.plan.ranks(), s.tensor, s.context, s.pipeline, s.data),
                    "leave --ranks out, or change the strategy with --set strategy.data=...");
}

/// What a rank on another host printed: a line a step, then the document.
void split_printed(const RunFolder& folder) {
    const std::string text = read_file(folder.printed(), "", most_printed_bytes);
    const std::size_t document = text.starts_with('{') ? 0 : text.find("\n{") + 1;  // npos + 1: none
    const bool whole = document > 0 || text.starts_with('{');
    replace_file(folder.steps(), whole ? text.substr(0, document) : text);
    if (whole) replace_file(folder.measured(), text.substr(document));
}

/// The processes of a run and who starts them.
struct Ranks {
    std::uint32_t count = 1;
    bool first = true;               ///< this process returns what is measured
    std::vector<std::uint32_t> own;  ///< those whose records this process is answerable for
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
        ranks.own = {job->rank};
        ranks.started = Started::by_job;
        return ranks;
    }
    ranks.own.resize(ranks.count);
    std::iota(ranks.own.begin(), ranks.own.end(), 0U);
    share_secret();
    Launch launch = launch_here(ranks.count, execution.device);
    launch.hosts = execution.hosts;
    if (elsewhere(launch)) ranks.started = Started::on_hosts;
    ranks.launcher = launcher_words(launch);
    return ranks;
}

/// Starts the ranks and waits for them; the folder holds the plan before, and what was measured afterwards. The first
/// rank may be on a host that does not see the folder: it then gets the plan and returns what it measured by its
/// standard input and output, which mpirun passes on.
Exit run_ranks(const Execution& execution, const Ranks& ranks, const RunFolder& folder, std::optional<Stall>& stall) {
    const bool elsewhere = ranks.started == Started::on_hosts;
    const std::string plan = folder.plan(), measured = folder.measured(), progress = folder.progress();
    std::vector<std::string> words = ranks.launcher;
    for (const std::string& word :
         {device_program().string(), std::string("run"), elsewhere ? "-" : plan, std::string("--device"),
          execution.device, std::string("--communication"), execution.communication, std::string("--out"),
          elsewhere ? "-" : measured, std::string("--progress"), progress})
        words.push_back(word);
    const StandardFiles files = elsewhere ? StandardFiles{plan, folder.printed()} : StandardFiles{};
    Watchdog watchdog(progress, ranks.count, execution.stall, files.out, ::getpid());
    const auto stands_still = [&] {
        stall = watchdog.look(seconds_now());
        return stall.has_value();
    };
    const Exit exit = run_child(words, stands_still, files);
    if (elsewhere) split_printed(folder);
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
    if (scenario.synchrony)
        throw Error("", "/synchrony", "a real run's replicas meet in every step; others are simulated only",
                    "leave it out");
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
    RunFolder folder(execution.keep, ranks.own);
    run::RunPlan plan{scenario.name, scenario.plan, execution.settings};
    if (execution.emulate) plan.settings.kernel_seconds = sim::kernel_seconds(scenario);
    if (ranks.first) replace_file(folder.plan(), run::to_json(plan));
    std::optional<Stall> stall;
    const Exit exit = run_ranks(execution, ranks, folder, stall);
    if (exit == Exit::done && (!ranks.first || fs::exists(folder.measured())))
        return {ranks.first ? run::load_measured(folder.measured()) : run::MeasuredRun{}, !ranks.first};
    folder.keep();
    if (stall) end_all(folder.progress(), ranks.count);
    throw RunFailure(post_mortem(plan, folder.progress(), folder.steps(), ranks.started, stall));
}

}  // namespace orrery::cli
