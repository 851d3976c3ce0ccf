// What `make bench` prints of scale: CPU time and peak memory of `orrery simulate`, process start and report included,
// for GPT-3 175B at growing data parallelism (folded, the least of five runs), and the ratio of that time to the floor.
//   scale_bench PATH/TO/orrery        from the repository's root
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/run_step.hpp"
#include "sim/tape.hpp"
#include "strategies/build.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

constexpr const char* file = "scenarios/gpt3-175b-superpod-a100.json";
constexpr std::uint32_t replica_gpus = 64, replica_batch = 96;
constexpr std::uint32_t most_of_small_switches = 131'072;  // GPUs that the preset's own switches can join

constexpr int folded_runs = 5;  ///< the least is printed: pages that a machine has yet to find take longer than a step

struct Case {
    std::uint32_t gpus;
    bool fold;
};

std::vector<std::string> overrides(const Case& c) {
    const std::uint32_t data = c.gpus / replica_gpus;
    std::vector<std::string> list{"cluster.preset=hgx-h100", fmt::format("cluster.nodes={}", c.gpus / 8),
                                  fmt::format("strategy.data={}", data),
                                  fmt::format("training.global_batch_size={}", data * replica_batch)};
    if (c.gpus > most_of_small_switches) list.emplace_back("cluster.switch_ports=256");
    return list;
}

struct Usage {
    double cpu_seconds, peak_megabytes;
};

/// Runs a program to its end; its own use of the machine.
Usage run(const std::vector<std::string>& words) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        if (std::freopen("/dev/null", "w", stdout) == nullptr) _exit(127);
        std::vector<char*> arguments;
        for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
        arguments.push_back(nullptr);
        execv(arguments.front(), arguments.data());
        _exit(127);
    }
    int status = 0;
    rusage used{};
    if (child < 0 || wait4(child, &status, 0, &used) != child || status != 0)
        throw std::runtime_error(fmt::format("{} failed", fmt::join(words, " ")));
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return {seconds(used.ru_utime) + seconds(used.ru_stime), static_cast<double>(used.ru_maxrss) / 1024};
}

double cpu_now() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Ends of one rank's operations in program order, transfers in no time: what any replay must at least do.
double longest_path(const Tape& tape, std::vector<double>& ends) {
    std::array<double, all_lanes> free{};
    double last = 0;
    for (const Tape::Op& op : tape.ops) {
        double begin = std::max(free[op.lane()], op.issue);
        for (const Tape::Wait& wait : tape.waits_of(op)) begin = std::max(begin, ends[wait.slot]);
        const double end = begin + op.device;
        free[op.lane()] = end;
        if (op.slot != Slots::none) ends[op.slot] = end;
        last = std::max(last, end);
    }
    return last;
}

/// CPU seconds of a longest-path pass over the programs of all classes that are simulated.
double floor_seconds(const Case& c) {
    std::vector<scenarios::Override> changes;
    for (const std::string& text : overrides(c)) changes.push_back(scenarios::parse_override(text));
    const scenarios::Scenario scenario = scenarios::load(file, changes);
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const calibrate::Predictor& predictor = profiles().find(scenario.profile);
    const Network network(cluster, predictor);
    const strategies::StepProgram step = strategies::build(scenario.plan);
    const auto folding = fold_ranks(step, cluster, network, c.fold);
    const Costs costs(step, scenario.plan, cluster.gpu(), predictor, network, BesideCollectives::slowed, folding.get());
    std::vector<Tape> tapes;
    std::uint32_t slots = 0;
    for (std::uint32_t role = 0; role < step.programs.size(); ++role) {
        tapes.emplace_back(step.programs[role], role, costs, folding->traffic);
        slots = std::max(slots, tapes.back().slots);
    }
    std::vector<double> ends(slots);
    double longest = 0;
    const double before = cpu_now();
    for (const RankClass& rank : folding->classes) longest = std::max(longest, longest_path(tapes[rank.role], ends));
    const double seconds = cpu_now() - before;
    if (longest <= 0) throw std::logic_error("an empty step");
    return seconds;
}

void measure(const std::string& orrery, const Case& c) {
    std::vector<std::string> words{orrery, "simulate", file, "--fold", c.fold ? "auto" : "off"};
    for (const std::string& text : overrides(c)) {
        words.emplace_back("--set");
        words.push_back(text);
    }
    Usage used = run(words);
    for (int again = 1; again < (c.fold ? folded_runs : 1); ++again) {
        const Usage next = run(words);
        if (next.cpu_seconds < used.cpu_seconds) used = next;
    }
    const double least = floor_seconds(c);
    fmt::print("{:>9}  {:<8}  {:>8.2f}  {:>9.0f}  {:>9.4f}  {:>7.0f}\n", c.gpus, c.fold ? "folded" : "unfolded",
               used.cpu_seconds, used.peak_megabytes, least, used.cpu_seconds / least);
}

}  // namespace
}  // namespace orrery::sim

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: scale_bench PATH/TO/orrery\n", stderr);
        return 2;
    }
    try {
        fmt::print("GPT-3 175B, TP8 PP8, 96 micro-batches a replica, on rails of hgx-h100\n");
        fmt::print("     GPUs  how        CPU (s)  peak (MB)  floor (s)    ratio\n");
        for (const orrery::sim::Case& c : std::initializer_list<orrery::sim::Case>{{1'024, true},
                                                                                   {16'384, true},
                                                                                   {102'400, true},
                                                                                   {1'048'576, true},
                                                                                   {1'024, false},
                                                                                   {4'096, false},
                                                                                   {16'384, false},
                                                                                   {102'400, false}})
            orrery::sim::measure(argv[1], c);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
    return 0;
}
