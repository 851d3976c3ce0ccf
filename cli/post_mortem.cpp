#include "cli/post_mortem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <optional>
#include <vector>

#include "report/operation.hpp"
#include "run/progress.hpp"
#include "strategies/build.hpp"

namespace orrery::cli {

namespace {

using run::RankState;
using run::RankTrace;

/// The operation that a rank's compute lane began last.
std::string operation_of(const run::RunPlan& plan, std::uint32_t rank, const RankTrace& trace) {
    const strategies::StepProgram step = strategies::unrolled(strategies::build(plan.plan));
    const auto& ops = step.programs[step.role[plan.settings.only_rank.value_or(rank)]].ops;
    const std::uint32_t item = trace.item[static_cast<std::size_t>(strategies::Lane::compute)];
    if (item == 0 || item > ops.size()) return "before the first operation";
    const strategies::Op& op = ops[item - 1];
    std::string text = fmt::format("at {} ({}", step.names[op.label.name], name(op.label.phase));
    if (op.label.layer >= 0) text += fmt::format(", layer {}", op.label.layer);
    if (op.label.micro_batch >= 0) text += fmt::format(", micro-batch {}", op.label.micro_batch);
    return text + ": " + report::describe(step, op) + ")";
}

/// The rank to blame: one that says why it failed; else one that was still running when the others were stopped.
std::optional<std::uint32_t> culprit(const std::vector<std::optional<RankTrace>>& ranks) {
    for (const RankState state : {RankState::failed, RankState::running, RankState::starting})
        for (std::uint32_t r = 0; r < ranks.size(); ++r)
            if (ranks[r] && ranks[r]->state == state) return r;
    return std::nullopt;
}

/// What to look at when no rank left word.
std::string hint_for(Started started) {
    switch (started) {
        case Started::here: return "the launcher's message above says why";
        case Started::on_hosts:
            return "the launcher's message above says why; are all hosts of the host file known and reachable without "
                   "a password, with orrery-device at the same path?";
        case Started::by_job:
            return "the message above says why; MPI under srun needs `srun --mpi=pmix`: else start orrery without srun "
                   "inside `salloc`, or take --communication tcp";
    }
    return "";
}

/// A run of which no record on this host says who failed.
std::string without_culprit(const std::vector<std::optional<RankTrace>>& ranks, std::size_t steps, Started started,
                            const std::optional<Stall>& stall) {
    const auto seen = [](const auto& one) { return one.has_value(); };
    const auto unseen = std::ranges::find_if_not(ranks, seen);
    if (stall && started == Started::here && unseen != ranks.end())
        return fmt::format(
            ": rank {}, the first of {} without a word, has not begun within {:.1f} s\n  hint: is its process stopped, "
            "or the machine overloaded? --stall sets how long a run may stand still",
            unseen - ranks.begin(), std::ranges::count_if(ranks, std::not_fn(seen)), stall->seconds);
    if (stall)
        return fmt::format(
            ": no rank has begun a step, or ended one, for {:.1f} s\n  hint: what do its hosts wait for? --stall sets "
            "how long a run may stand still",
            stall->seconds);
    if (unseen == ranks.end()) return " after its ranks had ended";
    if (started == Started::on_hosts && (steps > 0 || std::ranges::any_of(ranks, seen)))
        return fmt::format(
            ": {} of {} ranks, rank {} the first, ran on hosts that share no files with this one\n  hint: the messages "
            "above are theirs and the launcher's; a rank without a word was killed, or its host ran out of memory",
            std::ranges::count_if(ranks, std::not_fn(seen)), ranks.size(), unseen - ranks.begin());
    return ": no rank was started\n  hint: " + hint_for(started);
}

std::string steps_before(std::size_t measured, const std::filesystem::path& steps) {
    if (measured == 0) return "";
    return fmt::format("\n  {} steps were run before; their times and losses are in {}", measured, steps.string());
}

std::size_t lines_of(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::size_t lines = 0;
    for (std::string line; std::getline(in, line);) ++lines;
    return lines;
}

}  // namespace

std::string post_mortem(const run::RunPlan& plan, const std::filesystem::path& progress,
                        const std::filesystem::path& steps, Started started, const std::optional<Stall>& stall) {
    std::vector<std::optional<RankTrace>> ranks;
    for (std::uint32_t r = 0; r < plan.plan.ranks(); ++r)
        ranks.push_back(run::read_progress(run::progress_file(progress, r)));
    std::string text = "the run failed";
    const auto rank = stall ? stall->rank : culprit(ranks);
    const std::size_t measured = lines_of(steps);
    if (!rank) return text + without_culprit(ranks, measured, started, stall) + steps_before(measured, steps);
    if (!ranks[*rank])  // stopped before it could leave a record
        return text + fmt::format(
                          ": rank {} has not begun within {:.1f} s: its process is stopped\n  hint: what stopped it? "
                          "--stall sets how long a run may stand still",
                          *rank, stall->seconds);
    const RankTrace& trace = *ranks[*rank];
    const bool says = !stall && trace.state == RankState::failed;  // of a stall, what it met when it was ended
    text += fmt::format(": rank {} on host {}", *rank, trace.host);
    if (trace.state == RankState::starting)
        text += says ? "" : " while it started";
    else
        text += fmt::format(" in step {}, {}", trace.step, operation_of(plan, *rank, trace));
    if (says)
        text += ": " + trace.message;
    else if (stall)
        text += fmt::format(
            ": no rank has begun anything for {:.1f} s, and process {} is stopped or has done the least\n  hint: what "
            "does it wait for? --stall sets how long a run may stand still",
            stall->seconds, trace.pid);
    else
        text += fmt::format(
            ": process {} is gone without a word\n  hint: was it killed, or did the host run out of memory (dmesg)?",
            trace.pid);
    return text + steps_before(measured, steps);
}

}  // namespace orrery::cli
