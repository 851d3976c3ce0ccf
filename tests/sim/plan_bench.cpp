// CPU time of one predicted plan inside a process, as searches over many plans pay it: without start-up, report, advice
// and scale factor.
//   plan_bench [ROUNDS [PLAN]]        from the repository's root
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/predict.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

struct Case {
    std::string name;
    std::vector<std::string> changes;  ///< of GPT-3 on a DGX SuperPOD
};

const std::vector<Case> cases{
    {"1F1B", {"strategy.schedule=1f1b", "strategy.virtual_pipeline=1"}},
    {"1F1B, overlapped",
     {"strategy.schedule=1f1b", "strategy.virtual_pipeline=1", "strategy.overlap_grad_reduce=true"}},
    {"interleaved", {}},
    {"ZB-H1", {"strategy.schedule=zb-h1", "strategy.virtual_pipeline=1", "strategy.recompute=selective"}},
    {"GPipe", {"strategy.schedule=gpipe", "strategy.virtual_pipeline=1"}},
    {"1F1B, 1,536 micro-batches",
     {"strategy.schedule=1f1b", "strategy.virtual_pipeline=1", "training.global_batch_size=24576"}},
};

double cpu_now() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Cost {
    double first, rest;  ///< milliseconds of CPU: of the first plan of its shape, of one after it
};

Cost measure(const scenarios::Scenario& scenario, int rounds) {
    Session session;
    const Options options{.scale_factor = false, .advice = false, .session = &session};
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i) {
        const double before = cpu_now();
        if (predict(scenario, profiles(), options).step_time_s <= 0) throw std::logic_error("an empty step");
        times.push_back(1e3 * (cpu_now() - before));
    }
    const double first = times.front();
    std::ranges::nth_element(times, times.begin() + rounds / 2);
    return {first, times[static_cast<std::size_t>(rounds) / 2]};
}

void measure(const Case& which, int rounds) {
    std::vector<scenarios::Override> changes;
    for (const std::string& text : which.changes) changes.push_back(scenarios::parse_override(text));
    const scenarios::Scenario scenario = scenarios::load("scenarios/gpt3-175b-superpod-a100.json", changes);
    const Cost cost = measure(scenario, rounds);
    fmt::print("{:<26}  {:>9.2f}  {:>9.2f}\n", which.name, cost.first, cost.rest);
}

}  // namespace
}  // namespace orrery::sim

int main(int argc, char** argv) {
    try {
        const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 25;
        const std::string name = argc > 2 ? argv[2] : "";
        fmt::print("GPT-3 175B on 1,024 A100, TP8 PP8 DP16: CPU milliseconds a plan, median of {}\n", rounds);
        fmt::print("{:<26}  {:>9}  {:>9}\n", "plan", "first", "next");
        for (const auto& which : orrery::sim::cases)
            if (name.empty() || which.name == name) orrery::sim::measure(which, rounds);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
    return 0;
}
