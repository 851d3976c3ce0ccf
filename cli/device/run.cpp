// orrery-device run: one rank of a plan, executed and timed.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/host_name.hpp"
#include "cli/device/commands.hpp"
#include "kernels/communicator.hpp"
#include "run/lone_rank.hpp"
#include "run/measure.hpp"

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;

struct RunOptions {
    std::string plan, device = "cpu", communication = "auto", out, progress;
    bool steps_only = false;
};

std::string loss(const run::MeasuredStep& step) { return step.loss ? fmt::format("{:.5f}", *step.loss) : "-"; }

/// A file that nobody had, a line at a time.
class NewFile {
public:
    explicit NewFile(std::string name)
        : name_(std::move(name)), file_(::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
        if (file_ < 0 && errno == EEXIST)
            throw Error(name_, "", "is there already: steps of a run that failed, or another's file",
                        "remove it, or name another --out");
        if (file_ < 0) fail();
    }
    ~NewFile() { ::close(file_); }
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    void add(const std::string& line) {
        if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) fail();
    }
    void remove() { ::unlink(name_.c_str()); }

private:
    [[noreturn]] void fail() const {
        throw Error(name_, "", "cannot be written: " + std::generic_category().message(errno), "is there room?");
    }

    std::string name_;
    int file_;
};

/// Where the first rank's results go: a line for each step as it comes, so that what was measured stays when the run
/// fails, and the whole at the end, when the lines are no longer needed.
class Results {
public:
    explicit Results(const std::string& out) : out_(out) {
        if (!out.empty() && out != "-") steps_.emplace(out + ".steps");
    }
    void add(std::uint32_t step, const run::MeasuredStep& measured) {
        const std::string line = fmt::format("{} {} {}\n", step, measured.seconds, loss(measured));
        if (steps_)
            steps_->add(line);
        else if (out_ == "-")
            write(line);
        else
            fmt::print("step {:3}  {:9.3f} ms  loss {}\n", step, 1e3 * measured.seconds, loss(measured));
    }
    void finish(const run::MeasuredRun& measured) {
        if (out_ == "-")
            write(run::to_json(measured) + '\n');
        else if (!out_.empty())
            run::save(measured, out_);
        if (steps_) steps_->remove();
    }

private:
    static void write(const std::string& text) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    }

    std::string out_;
    std::optional<NewFile> steps_;
};

Exit execute(const RunOptions& options, kernels::Device& device, kernels::Communicator* world,
             run::Progress* progress) {
    // Rank 0's plan goes to all: hosts need not share a file system.
    const bool first = world == nullptr || world->rank() == 0;
    std::string text = first ? text_of(options.plan, "orrery run writes it") : "";
    if (world != nullptr) text = world->from_first(text);
    const run::RunPlan plan = run::plan_from_json(text, options.plan);
    std::optional<run::LoneRank> lone;
    if (plan.settings.only_rank) {
        if (world != nullptr)
            throw Error("a rank that runs alone was started with others", "start one process, without mpirun");
        lone.emplace(*plan.settings.only_rank, plan.plan.ranks());
        world = &*lone;
    }
    std::optional<Results> results;
    if (first) results.emplace(options.out);
    if (progress != nullptr) progress->record().state = run::RankState::running;
    const auto on_step = [&](std::uint32_t step, const run::MeasuredStep& measured) {
        if (results) results->add(step, measured);
    };
    const run::MeasuredRun result = run::measure(device, world, plan, {progress, on_step, options.steps_only});
    if (results) results->finish(result);
    if (progress != nullptr) progress->record().state = run::RankState::finished;
    return Exit::done;
}

/// Where this rank notes what it is doing: null without a folder. A launcher on another host makes the folder there
/// (the plan then comes by standard input); where files are not shared, a rank says on stderr why it fails.
std::unique_ptr<run::Progress> progress_of(const RunOptions& options, std::uint32_t rank) {
    if (options.progress.empty() || (options.plan == "-" && !fs::is_directory(options.progress))) return nullptr;
    auto progress = std::make_unique<run::Progress>(run::progress_file(options.progress, rank));
    progress->watch_signals();
    return progress;
}

/// A rank that fails ends all: none waits for it.
Exit run_rank(const RunOptions& options) {
    const auto device = kernels::open_device(options.device);
    const auto world = kernels::world(*device, options.communication);
    const auto progress = progress_of(options, world == nullptr ? 0 : world->rank());
    try {
        return execute(options, *device, world.get(), progress.get());
    } catch (const std::exception& error) {
        if (progress) progress->fail(error.what());
        if (world == nullptr) throw;
        world->abort(progress ? "" : fmt::format("rank {} on host {}: {}", world->rank(), host_name(), error.what()));
        return Exit::run_failure;
    }
}

}  // namespace

void add_device_run(CLI::App& program, Exit& exit) {
    CLI::App* const command =
        program.add_subcommand("run", "execute a plan that orrery run wrote: train, and time every operation");
    const auto options = std::make_shared<RunOptions>();
    command->add_option("PLAN", options->plan, "plan file (JSON); - for standard input of the first rank")->required();
    command->add_option("--device", options->device, "cpu, cpu:4 (threads), cuda")->capture_default_str();
    command->add_option("--communication", options->communication, "auto (MPI or NCCL) or tcp (CPU ranks without MPI)")
        ->capture_default_str();
    command
        ->add_option("--out", options->out,
                     "what was measured (JSON); - for stdout, behind a line a step; without it, steps are printed")
        ->type_name("FILE");
    command->add_flag("--steps-only", options->steps_only,
                      "time the steps and not their operations, each of which costs two marks on a GPU");
    command->add_option("--progress", options->progress, "folder where every rank notes what it is doing")
        ->type_name("FOLDER");
    command->footer("Example:\n  mpirun -n 2 orrery-device run plan.json --device cpu --out measured.json");
    command->callback([options, &exit] { exit = run_rank(*options); });
}

}  // namespace orrery::cli
