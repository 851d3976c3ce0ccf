// Windows against closed forms, and laws that hold for every job.
#include "synchrony/window.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "tests/synchrony/random_job.hpp"

namespace orrery::synchrony {
namespace {

constexpr std::uint32_t no_bound = 100'000;

/// Seconds of a pull, or a push, that has its links to itself.
double alone(const Job& job, const std::vector<Use>& uses, double bytes) {
    double rate = std::numeric_limits<double>::infinity();
    for (const Use& use : uses) rate = std::min(rate, job.links[use.link] / use.share);
    return bytes / rate;
}

double slowest_step(const Job& job) {
    double most = 0;
    for (std::uint32_t w = 0; w < job.workers.size(); ++w) most = std::max(most, step_seconds(job, w, 0, 0, 0));
    return most;
}

void expect_same(const Outcome& a, const Outcome& b) {
    EXPECT_EQ(a.seconds, b.seconds);
    EXPECT_EQ(a.missed, b.missed);
    EXPECT_EQ(a.staleness, b.staleness);
    for (std::size_t w = 0; w < a.workers.size(); ++w) {
        EXPECT_EQ(a.workers[w].steps, b.workers[w].steps);
        EXPECT_EQ(a.workers[w].waiting, b.workers[w].waiting);
    }
}

TEST(Window, StalenessOfZeroIsBspAndOfNoBoundAsp) {
    for (std::uint64_t seed = 0; seed < jobs; ++seed) {
        const Job job = random_job(seed);
        expect_same(simulate(with(job, Mode::ssp, 0), seed), simulate(with(job, Mode::bsp), seed));
        expect_same(simulate(with(job, Mode::ssp, no_bound), seed), simulate(with(job, Mode::asp), seed));
    }
}

TEST(Window, EveryUpdateAndEverySecondIsCountedOnce) {
    for (std::uint64_t seed = 0; seed < jobs; ++seed)
        for (const std::uint32_t staleness : {0U, 1U, 4U, no_bound}) {
            const Job job = with(random_job(seed), Mode::ssp, staleness);
            const Outcome window = simulate(job, seed);
            const std::uint64_t workers = job.workers.size();
            EXPECT_EQ(window.updates, job.options.steps * workers);
            std::uint64_t steps = 0;
            for (const WorkerTime& worker : window.workers) {
                steps += worker.steps;
                EXPECT_NEAR(worker.computing + worker.exchanging + worker.waiting, window.seconds,
                            1e-9 * window.seconds);
            }
            EXPECT_EQ(steps, window.updates);
            const std::uint64_t begun = std::accumulate(window.staleness.begin(), window.staleness.end(), 0ULL);
            EXPECT_GE(begun, window.updates);
            EXPECT_LE(begun, window.updates + workers) << "one under way for each";
            EXPECT_LE(window.most_stale(), staleness);
            EXPECT_LE(window.link_busy, 1 + 1e-9);
        }
}

TEST(Window, WorkersDoNotDriftApartFurtherThanTheBound) {
    for (std::uint64_t seed = 0; seed < jobs; ++seed) {
        const Outcome window = simulate(with(random_job(seed), Mode::ssp, 2), seed);
        std::uint64_t least = ~0ULL, most = 0;
        for (const WorkerTime& worker : window.workers) {
            least = std::min(least, worker.steps);
            most = std::max(most, worker.steps);
        }
        EXPECT_LE(most - least, 3U) << "a step may be begun at the bound, and then be ended";
    }
}

/// Where links do not bind. Where they do, workers that wait less may get into each other's way.
TEST(Window, ThroughputGrowsWithStaleness) {
    for (std::uint64_t seed = 0; seed < jobs; ++seed) {
        const Job job = random_job(seed, true);
        double before = 0;
        for (const std::uint32_t staleness : {0U, 1U, 2U, 3U, 5U, 8U, no_bound}) {
            const double rate = simulate(with(job, Mode::ssp, staleness), seed).tokens_per_s();
            EXPECT_GE(rate, before * (1 - 1e-9)) << "job " << seed << ", staleness " << staleness;
            before = rate;
        }
    }
}

TEST(Window, AspIsTheSumOfItsWorkersWhereLinksDoNotBind) {
    for (std::uint64_t seed = 0; seed < jobs; ++seed) {
        Job job = with(random_job(seed, true), Mode::asp);
        job.options.step_jitter = 0;
        job.options.steps = 400;
        double rate = 0;
        for (std::uint32_t w = 0; w < job.workers.size(); ++w)
            rate += 1 / (alone(job, job.ways[w].pull, job.pull_bytes) + step_seconds(job, w, 0, 0, seed) +
                         alone(job, job.ways[w].push, job.push_bytes));
        const Outcome window = simulate(job, seed);
        // A step of each is under way at the end.
        EXPECT_NEAR(static_cast<double>(window.updates) / window.seconds, rate, 0.005 * rate);
    }
}

TEST(Window, AspIsBoundByItsServersElse) {
    // Eight workers, one server of 1 GB/s on a node of its own, a gigabyte for every step.
    Job job{.options = {.mode = Mode::asp, .steps = 400}, .links = {1e9, 1e9}, .ways = {{{{0, 1}}, {{1, 1}}}}};
    job.workers.assign(8, {.compute_s = 0.01});
    job.push_bytes = 1e9;
    job.tokens = 1;
    EXPECT_NEAR(simulate(job, 1).tokens_per_s(), 1, 0.01);
    EXPECT_GT(simulate(job, 1).link_busy, 0.99);
    // Workers that are all alike pull together and push together, so that one direction idles.
    job.pull_bytes = 1e9;
    EXPECT_NEAR(simulate(job, 1).tokens_per_s(), 0.5, 0.01);
    job.options.step_jitter = 1;
    job.workers.assign(8, {.compute_s = 1});
    EXPECT_GT(simulate(job, 1).tokens_per_s(), 0.55) << "out of step they use both";
    EXPECT_LE(simulate(job, 1).tokens_per_s(), 1 + 1e-9);
}

TEST(Window, BspTakesAsLongAsItsSlowestAndAllTransfersAtOnce) {
    // n workers pull from one server and push to it, all at the same time: n S / R each way.
    Job job{.options = {.exchange = Exchange::parameter_server, .steps = 50},
            .links = {2e9, 2e9},
            .ways = {{{{0, 1}}, {{1, 1}}}}};
    job.workers.assign(5, {.compute_s = 0.3});
    job.push_bytes = job.pull_bytes = 1e8;
    EXPECT_NEAR(simulate(job, 1).seconds, 50 * (0.3 + 2 * 5 * 1e8 / 2e9), 1e-9);
    // A slow one pushes by itself when all others have.
    job.workers[2].parts = {{{.factor = 3}}};
    EXPECT_NEAR(simulate(job, 1).seconds, 50 * (0.9 + 5 * 1e8 / 2e9 + 1e8 / 2e9), 1e-9);
    EXPECT_NEAR(simulate(job, 1).missed, 2, 0.01) << "each misses the updates that came before its own: 0 to 4";
}

TEST(Window, AConstantlySlowWorkerIsOutrunOnceAndThenWaitedFor) {
    Job job{.options = {.mode = Mode::ssp, .staleness = 5, .steps = 1000}, .ways = {{}}};
    job.workers.assign(4, {.compute_s = 1});
    job.workers[0].parts = {{{.factor = 2}}};
    job.tokens = 1;
    const Outcome window = simulate(job, 1);
    // Others end 5 steps more than worker 0 has, and one that they were let into.
    EXPECT_NEAR(window.tokens_per_s(), 4 / 2.0, 0.02);
    EXPECT_EQ(window.most_stale(), 5U);
    EXPECT_NEAR(window.workers[1].waiting / window.seconds, 0.5, 0.01);
    EXPECT_NEAR(window.workers[0].waiting, 0, 1e-9);
    EXPECT_NEAR(simulate(with(job, Mode::asp), 1).tokens_per_s(), 3.5, 0.02);
}

TEST(Window, RandomSlownessIsWhatStalenessHelpsAgainst) {
    Job job{.options = {.exchange = Exchange::parameter_server, .step_jitter = 0.4, .steps = 500}, .ways = {{}}};
    job.workers.assign(16, {.compute_s = 1});
    job.tokens = 1;
    const double waits = simulate(with(job, Mode::bsp), 3).tokens_per_s();
    const double bounded = simulate(with(job, Mode::ssp, 4), 3).tokens_per_s();
    const double free = simulate(with(job, Mode::asp), 3).tokens_per_s();
    // The largest of 16 log-normal factors: exp(0.4 z - 0.08) at the mean of z, 1.766, and a little more.
    EXPECT_NEAR(waits, 16 / std::exp(0.4 * 1.766 - 0.08), 0.07 * waits);
    EXPECT_NEAR(free, 16, 0.02 * 16) << "mean 1";
    EXPECT_GT(bounded, waits + 0.6 * (free - waits));
}

TEST(Window, RoundsOfAnAllReduceAreTheirClosedForm) {
    for (std::uint64_t seed = 0; seed < jobs; ++seed) {
        Job job = random_job(seed);
        job.options = {.steps = 20};
        EXPECT_NEAR(simulate(job, seed).seconds, 20 * (slowest_step(job) + job.reduce_s), 1e-9);
        job.options = {.mode = Mode::local_sgd, .local_steps = 5, .steps = 20};
        const Outcome window = simulate(job, seed);
        EXPECT_NEAR(window.seconds, 20 * slowest_step(job) + 4 * job.reduce_s, 1e-9);
        EXPECT_EQ(window.updates, 20 * job.workers.size());
        EXPECT_EQ(window.mean_staleness(), 2);
    }
}

TEST(Window, RarerAveragesNeverTakeLonger) {
    for (std::uint64_t seed = 0; seed < jobs; ++seed) {
        Job job = random_job(seed);
        double before = std::numeric_limits<double>::infinity();
        for (const std::uint32_t each : {1U, 2U, 4U, 8U, 16U}) {
            job.options = {.mode = Mode::local_sgd, .local_steps = each, .step_jitter = 0.3, .steps = 16};
            const double seconds = simulate(job, seed).seconds;
            EXPECT_LE(seconds, before * (1 + 1e-12));
            before = seconds;
        }
    }
}

TEST(Window, SlownessHoldsInItsWindow) {
    Job job{.options = {.steps = 10}};
    job.workers = {{.compute_s = 1}, {.compute_s = 1, .parts = {{{2, 5, 3}}}}};
    job.tokens = 1;
    // Steps begin at 0, 1 and 2, then at 5.
    EXPECT_NEAR(simulate(job, 1).seconds, 12, 1e-9);
    EXPECT_NEAR(simulate(job, 1).workers[0].waiting, 2, 1e-9);
}

TEST(Window, TheSeedDecides) {
    Job job = random_job(3);
    job.options.step_jitter = 0.3;
    EXPECT_EQ(simulate(job, 5).seconds, simulate(job, 5).seconds);
    EXPECT_NE(simulate(job, 5).seconds, simulate(job, 6).seconds);
}

}  // namespace
}  // namespace orrery::synchrony
