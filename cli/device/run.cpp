// orrery-device run: one rank of a plan, executed and timed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "base/host_name.hpp"
#include "cli/device/commands.hpp"
#include "kernels/communicator.hpp"
#include "run/lone_rank.hpp"
#include "run/measure.hpp"

namespace orrery::cli {

namespace {

namespace fs = std::filesystem;

struct Options {
    std::string plan, device = "cpu", communication = "auto", out, progress;
};

std::string loss(const run::MeasuredStep& step) { return step.loss ? fmt::format("{:.5f}", *step.loss) : "-"; }

/// Where the first rank's results go: a line for each step as it comes, so that what was measured stays when the run
/// fails, and the whole at the end.
class Results {
public:
    explicit Results(const std::string& out) : out_(out) {
        if (!out.empty() && out != "-") steps_.open(out + ".steps");
    }
    void add(std::uint32_t step, const run::MeasuredStep& measured) {
        const std::string line = fmt::format("{} {} {}\n", step, measured.seconds, loss(measured));
        if (steps_.is_open())
            steps_ << line << std::flush;
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
    }

private:
    static void write(const std::string& text) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    }

    std::string out_;
    std::ofstream steps_;
};

Exit execute(const Options& options, kernels::Device& device, kernels::Communicator* world, run::Progress* progress) {
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
    const run::MeasuredRun result = run::measure(device, world, plan, {progress, on_step});
    if (results) results->finish(result);
    if (progress != nullptr) progress->record().state = run::RankState::finished;
    return Exit::done;
}

/// Where this rank notes what it is doing: null without a folder. A launcher on another host makes the folder there
/// (the plan then comes by standard input); where files are not shared, a rank says on stderr why it fails.
std::unique_ptr<run::Progress> progress_of(const Options& options, std::uint32_t rank) {
    if (options.progress.empty() || (options.plan == "-" && !fs::is_directory(options.progress))) return nullptr;
    auto progress = std::make_unique<run::Progress>(run::progress_file(options.progress, rank));
    progress->watch_signals();
    return progress;
}

/// A rank that fails ends all: none waits for it.
Exit run_rank(const Options& options) {
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
    const auto options = std::make_shared<Options>();
    command->add_option("PLAN", options->plan, "plan file (JSON); - for standard input of the first rank")->required();
    command->add_option("--device", options->device, "cpu, cpu:4 (threads), cuda")->capture_default_str();
    command->add_option("--communication", options->communication, "auto (MPI or NCCL) or tcp (CPU ranks without MPI)")
        ->capture_default_str();
    command
        ->add_option("--out", options->out,
                     "what was measured (JSON); - for stdout, behind a line a step; without it, steps are printed")
        ->type_name("FILE");
    command->add_option("--progress", options->progress, "folder where every rank notes what it is doing")
        ->type_name("FOLDER");
    command->footer("Example:\n  mpirun -n 2 orrery-device run plan.json --device cpu --out measured.json");
    command->callback([options, &exit] { exit = run_rank(*options); });
}

}  // namespace orrery::cli
