// Closed form and events agree, and both with what can be worked out by hand.
#include "reliability/goodput.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/error.hpp"
#include "tests/reliability/sample_run.hpp"

namespace orrery::reliability {
namespace {

/// Mean of many runs, and the standard error of it.
struct Mean {
    double value = 0, error = 0;
};
Mean simulated(const TrainingRun& run, std::uint32_t runs = 400) {
    double sum = 0, squares = 0;
    for (std::uint32_t seed = 0; seed < runs; ++seed) {
        const double seconds = simulate(run, seed).times.total();
        sum += seconds;
        squares += seconds * seconds;
    }
    const double mean = sum / runs;
    return {mean, std::sqrt(std::max(0.0, squares / runs - mean * mean) / (runs - 1))};
}

/// Within five standard errors, and `slack` of the value.
void expect_agree(const TrainingRun& run, double slack = 0) {
    const Mean events = simulated(run);
    const double expected = expected_seconds(run);
    EXPECT_NEAR(events.value, expected, 5 * events.error + (slack + 1e-9) * expected)
        << "interval " << run.interval << ", stall " << run.stall << ", write " << run.write << ", MTBF " << run.mtbf()
        << ", spares " << run.spare_nodes;
}

/// Evenly by its logarithm.
double drawn(std::mt19937_64& random, double least, double most) {
    return least * std::pow(most / least, std::uniform_real_distribution<double>(0, 1)(random));
}

TEST(Goodput, WithoutFailuresOnlyCheckpointsCost) {
    TrainingRun run = sample_run();
    run.failures_per_s = 0;
    const Outcome outcome = simulate(run, 1);
    EXPECT_EQ(outcome.failures, 0U);
    EXPECT_DOUBLE_EQ(outcome.times.work, run.work);
    EXPECT_NEAR(outcome.times.checkpoints, 2400 * minute, 1e-3);
    EXPECT_NEAR(outcome.times.total(), expected_seconds(run), 1e-3);
}

TEST(Goodput, OneFailureIsAccountedToTheSecond) {
    TrainingRun run = sample_run();
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const Outcome outcome = simulate(run, seed);
        EXPECT_NEAR(outcome.times.work, run.work, 1e-3);
        const double failures = static_cast<double>(outcome.failures);
        EXPECT_LE(outcome.times.detection, failures * run.detection + 1e-3);
        EXPECT_LE(outcome.times.restart, failures * (run.restart + run.read) + 1e-3);
        EXPECT_LE(outcome.times.lost, failures * run.interval);
        EXPECT_EQ(outcome.times.waiting, 0);
    }
}

TEST(Goodput, TheSameSeedIsTheSameRun) {
    const TrainingRun run = sample_run();
    EXPECT_EQ(simulate(run, 7).times.total(), simulate(run, 7).times.total());
    EXPECT_NE(simulate(run, 7).times.total(), simulate(run, 8).times.total());
}

TEST(Goodput, ClosedFormIsDalysForSynchronousCheckpoints) {
    // Daly 2006, equation 20: M exp(R/M) (exp((tau + delta)/M) - 1) T / tau.
    const TrainingRun run = sample_run();
    const double m = run.mtbf(), down = run.detection + run.restart + run.read;
    EXPECT_NEAR(expected_seconds(run),
                m * std::exp(down / m) * std::expm1((run.interval + run.stall) / m) * run.work / run.interval, 1e-3);
}

TEST(Goodput, ClosedFormIsTheResearchClustersToFirstOrder) {
    // Kokolis et al. 2025: (1 - N r (u0 + dt/2)) / (1 + w/dt), for small losses.
    TrainingRun run = sample_run();
    run.detection = run.read = 0;
    run.failures_per_s = 0.2 / day;
    const double published =
        (1 - run.failures_per_s * (run.restart + run.interval / 2)) / (1 + run.stall / run.interval);
    EXPECT_NEAR(run.work / expected_seconds(run), published, 5e-4);
}

TEST(Goodput, EventsAgreeWithTheClosedForm) {
    TrainingRun run = sample_run();
    expect_agree(run);
    run.failures_per_s = 10 / day;  // failures meet restarts
    expect_agree(run);
    run.interval = 6 * hour;
    expect_agree(run);
    run.paced_step = 13;
    expect_agree(run);
}

TEST(Goodput, EventsAgreeWhereCheckpointsAreWrittenBesideTheSteps) {
    TrainingRun run = sample_run();
    run.failures_per_s = 5 / day;
    run.stall = 5;
    run.write = 40 * minute;
    run.shared_write = run.write;
    expect_agree(run);
}

TEST(Goodput, EventsAgreeWhereNodesAreAwaited) {
    for (const std::uint32_t spares : {0U, 1U, 3U}) {
        TrainingRun run = sample_run();
        run.spare_nodes = spares;
        run.repair = 2 * day;
        expect_agree(run, 0.01);  // the run begins with all nodes whole, the formula is for the long run
    }
}

TEST(Goodput, EventsAgreeWhereTheJobShrinks) {
    TrainingRun run = sample_run();
    run.spare_nodes = 1;
    run.repair = 2 * day;
    run.without_spare = WithoutSpare::shrink;
    expect_agree(run, 0.02);
    EXPECT_GT(simulate(run, 1).times.shrunk, 0);
    TrainingRun waits = run;
    waits.without_spare = WithoutSpare::wait;
    EXPECT_LT(simulated(run).value, simulated(waits).value);
}

TEST(Goodput, EventsAgreeWhereABrokenNodeTakesItsCheckpointsAlong) {
    TrainingRun run = sample_run();
    run.outlives_node = false;
    run.interval = 10 * minute;
    run.stall = run.write = 5;
    run.shared_every = 12;
    run.shared_write = 8 * minute;
    expect_agree(run, 0.001);
}

/// To the file system as often as a node breaks, or never before the end: most work is done several times.
TEST(Goodput, EventsAgreeWhereOldCheckpointsAreVeryOld) {
    for (const std::uint32_t every : {1U, 30U, 300U, 700U, 100000U})
        for (const double broken_share : {0.1, 1.0}) {
            TrainingRun run = sample_run();
            run.work = 5 * day;
            run.outlives_node = false;
            run.broken_share = broken_share;
            run.interval = 10 * minute;
            run.stall = run.write = 5;
            run.shared_every = every;
            run.shared_write = std::min(every * run.interval, 30 * minute);
            SCOPED_TRACE(every);
            expect_agree(run, 0.003);
        }
}

TEST(Goodput, EventsAgreeOnRandomRuns) {
    std::mt19937_64 random(11);
    const auto between = [&](double least, double most) { return drawn(random, least, most); };
    for (int i = 0; i < 100; ++i) {
        TrainingRun run = sample_run();
        run.work = between(5, 200) * day;
        run.failures_per_s = between(0.02, 8) / day;
        run.interval = between(5 * minute, 6 * hour);
        run.stall = between(1, 300);
        run.write = run.shared_write = run.stall + between(1e-3, run.interval);
        run.detection = between(1, 1800);
        SCOPED_TRACE(i);
        expect_agree(run, 2e-4);  // of the last cycle, which is shorter
    }
}

/// The last is there before the end because other failures delay that.
TEST(Goodput, EventsAgreeWhereTheLastOldCheckpointIsJustInTime) {
    for (const double failures : {2.0, 4.0, 8.0}) {
        TrainingRun run = sample_run();
        run.outlives_node = false;
        run.work = 3.9 * day;
        run.failures_per_s = failures / day;
        run.broken_share = 0.2;
        run.interval = hour / 2;
        run.stall = run.write = 5;
        run.shared_every = 96;
        run.shared_write = 46 * hour;
        expect_agree(run, 0.03);
    }
}

/// A run that is over before as many nodes are in repair as would be later.
TEST(Goodput, EventsAgreeWhereAJobShrinksForLong) {
    for (const double repair : {10 * day, 30 * day, 90 * day})
        for (const std::uint32_t spares : {0U, 4U}) {
            TrainingRun run = sample_run();
            run.work = 40 * day;
            run.failures_per_s = 0.5 / day;
            run.broken_share = 0.5;
            run.spare_nodes = spares;
            run.repair = repair;
            run.without_spare = WithoutSpare::shrink;
            run.replicas = run.nodes = 64;
            SCOPED_TRACE(fmt::format("repairs of {} days", repair / day));
            expect_agree(run, 0.02);
        }
}

/// Most of the nodes are in repair at once: those that are left break the more seldom.
TEST(Goodput, EventsAgreeWhereAJobShrinksToFew) {
    for (const double repair : {1 * day, 3 * day, 10 * day}) {
        TrainingRun run = sample_run();
        run.work = 40 * day;
        run.failures_per_s = 2 / day;
        run.broken_share = 1;
        run.spare_nodes = 0;
        run.repair = repair;
        run.without_spare = WithoutSpare::shrink;
        run.replicas = 16;
        run.per_node = 4;
        run.nodes = 4;
        SCOPED_TRACE(fmt::format("repairs of {} days", repair / day));
        expect_agree(run, 0.12);  // to first order
    }
}

/// Whole micro-batches are dealt to those that run: three of four replicas with one each take twice as long.
TEST(Goodput, ShrunkJobsDealWholeMicroBatches) {
    TrainingRun run = sample_run();
    run.replicas = 4;
    EXPECT_DOUBLE_EQ(run.pace(3), 0.75);
    run.micro_batches = 1;
    EXPECT_DOUBLE_EQ(run.pace(3), 0.5);
    EXPECT_DOUBLE_EQ(run.pace(4), 1);
    run.micro_batches = 12;
    EXPECT_DOUBLE_EQ(run.pace(3), 0.75);
    run.spare_nodes = 0;
    run.repair = 2 * day;
    run.without_spare = WithoutSpare::shrink;
    const double finely = simulate(run, 1).times.total();
    run.micro_batches = 1;
    EXPECT_GT(simulate(run, 1).times.total(), finely);
}

TEST(Goodput, NodesThatHardlyEverBreakCostNothing) {
    for (const double share : {1e-9, 1e-12, 1e-15}) {
        TrainingRun run = sample_run();
        const double without = expected_seconds(run);
        run.outlives_node = false;
        run.shared_every = 10;
        run.broken_share = share;
        EXPECT_NEAR(expected_seconds(run), without, 1e-6 * without) << share;
    }
}

TEST(Goodput, EventsAgreeOnRandomRunsWithOldCheckpoints) {
    std::mt19937_64 random(13);
    const auto between = [&](double least, double most) { return drawn(random, least, most); };
    for (int i = 0; i < 100; ++i) {
        TrainingRun run = sample_run();
        run.outlives_node = false;
        run.work = between(5, 100) * day;
        run.failures_per_s = between(0.02, 8) / day;
        run.broken_share = between(0.02, 1);
        run.interval = between(5 * minute, 2 * hour);
        run.stall = between(1, 100);
        run.write = run.stall + between(1e-3, run.interval);
        const double most = std::min(run.work, 5 / (run.failures_per_s * run.broken_share));
        run.shared_every = static_cast<std::uint32_t>(between(1, std::max(1.0, most / run.interval)));
        run.shared_write = std::max(run.write, run.shared_every * run.interval * between(0.01, 1));
        SCOPED_TRACE(
            fmt::format("{}: each {}., broken {}, shared {}", i, run.shared_every, run.broken_share, run.shared_write));
        expect_agree(run, 0.003);
    }
}

TEST(Goodput, TheOptimumIsBestAmongItsNeighbours) {
    for (const double stall : {2.0, 30.0, 300.0})
        for (const double mtbf : {2 * hour, day, 30 * day}) {
            TrainingRun run = sample_run();
            run.stall = run.write = run.shared_write = stall;
            run.failures_per_s = 1 / mtbf;
            run.interval = daly_interval(stall, mtbf);
            const double best = expected_seconds(run);
            for (const double factor : {0.5, 0.8, 1.25, 2.0}) {
                TrainingRun other = run;
                other.interval *= factor;
                EXPECT_GE(expected_seconds(other), best * (1 - 1e-4)) << stall << ' ' << mtbf << ' ' << factor;
            }
        }
}

TEST(Goodput, MoreOfAnythingBadTakesLonger) {
    const TrainingRun run = sample_run();
    const double usual = expected_seconds(run);
    for (double TrainingRun::*const part : {&TrainingRun::failures_per_s, &TrainingRun::detection,
                                            &TrainingRun::restart, &TrainingRun::read, &TrainingRun::paced_step}) {
        TrainingRun worse = run;
        worse.*part *= 1.5;
        EXPECT_GT(expected_seconds(worse), usual);
        EXPECT_GT(simulated(worse).value, simulated(run).value);
    }
}

TEST(Forecast, HasADistribution) {
    const Forecast all = forecast(sample_run(), 1);
    EXPECT_EQ(all.runs, 1000U);
    EXPECT_LT(all.seconds_p10, all.seconds());
    EXPECT_GT(all.seconds_p90, all.seconds());
    EXPECT_NEAR(all.seconds(), all.closed_form_s, 0.002 * all.closed_form_s);
    EXPECT_NEAR(all.failures, all.seconds() / day, 1);
    EXPECT_NEAR(all.goodput(), sample_run().work / all.seconds(), 1e-12);
    EXPECT_EQ(forecast(sample_run(), 1).seconds(), all.seconds());
}

/// However slow its input is.
TEST(Forecast, EndsWhereNothingFails) {
    TrainingRun run = sample_run();
    run.failures_per_s = 0;
    run.paced_step = 2000 * run.step;
    EXPECT_GT(forecast(run, 1).mean.total(), 2000 * run.work);
}

/// A part of a run that fails very often stands for all of it: as long, and as even.
TEST(Forecast, ManyFailuresAreSimulatedInPart) {
    TrainingRun run = sample_run();
    run.work = 20000 * day;
    run.failures_per_s = 1 / (2 * hour);
    run.interval = 15 * minute;
    const Forecast all = forecast(run, 1);
    EXPECT_EQ(all.runs, 100U);
    EXPECT_NEAR(all.seconds(), all.closed_form_s, 2e-3 * all.closed_form_s);
    EXPECT_NEAR(all.failures, all.seconds() / (2 * hour), 2e-3 * all.failures);
    EXPECT_NEAR(all.mean.work, run.work, 1e-9 * run.work);
    run.work /= 100;  // not in part
    const Forecast hundredth = forecast(run, 1);
    const auto spread = [](const Forecast& of) { return of.seconds_p90 - of.seconds_p10; };
    EXPECT_NEAR(spread(all), 10 * spread(hundredth), 4 * spread(hundredth));
}

TEST(Forecast, SaysWhereRepairsAreWhatNeverEnds) {
    TrainingRun run = sample_run();
    run.spare_nodes = 0;
    run.repair = 10000 * day;
    try {
        (void)forecast(run, 1);
        FAIL();
    } catch (const NeverEnds& error) {
        EXPECT_NE(error.message().find("its repair takes"), std::string::npos) << error.message();
        EXPECT_NE(error.hint().find("spare_nodes"), std::string::npos);
    }
}

TEST(Forecast, RefusesWhatNeverEnds) {
    TrainingRun run = sample_run();
    run.failures_per_s = 1 / minute;
    EXPECT_THROW((void)forecast(run, 1), Error);
    TrainingRun old = sample_run();  // a broken node every second day takes 20 days of work along
    old.outlives_node = false;
    old.shared_every = 480;
    old.interval = hour;
    try {
        (void)forecast(old, 1);
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(error.message().find("20.0 days to the next on the shared file system"), std::string::npos)
            << error.message();
        EXPECT_NE(error.hint().find("shared_every"), std::string::npos);
    }
}

}  // namespace
}  // namespace orrery::reliability
