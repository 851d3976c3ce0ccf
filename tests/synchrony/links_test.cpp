// Rates are max-min fair: no link is over its capacity, and each transfer has a full link on which none is faster.
#include "synchrony/links.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/synchrony/random_job.hpp"

namespace orrery::synchrony {
namespace {

TEST(Links, RatesAreMaxMinFair) {
    for (std::uint64_t seed = 0; seed < jobs; ++seed) {
        const Job job = random_job(seed);
        Links links(job);
        Random random(seed + 1000);
        std::vector<std::uint32_t> active(2 * job.ways.size());
        for (std::uint32_t way = 0; way < active.size(); ++way)
            while (random.uniform() < 0.5) {
                links.begin(way);
                ++active[way];
            }
        const auto uses = [&](std::uint32_t way) {
            return way % 2 == 0 ? job.ways[way / 2].push : job.ways[way / 2].pull;
        };
        std::vector<double> load(job.links.size()), fastest(job.links.size());
        for (std::uint32_t way = 0; way < active.size(); ++way)
            for (const Use& use : uses(way))
                if (active[way] > 0) {
                    load[use.link] += active[way] * use.share * links.rate(way);
                    fastest[use.link] = std::max(fastest[use.link], links.rate(way));
                }
        for (std::size_t link = 0; link < load.size(); ++link) EXPECT_LE(load[link], job.links[link] * (1 + 1e-9));
        for (std::uint32_t way = 0; way < active.size(); ++way) {
            if (active[way] == 0) continue;
            bool bound = false;
            for (const Use& use : uses(way))
                bound = bound || (load[use.link] >= job.links[use.link] * (1 - 1e-9) &&
                                  links.rate(way) >= fastest[use.link] * (1 - 1e-9));
            EXPECT_TRUE(bound) << "job " << seed << ", way " << way;
        }
    }
}

TEST(Links, WhatUsesNoneIsThereAtOnce) {
    Job job{.workers = {{.compute_s = 1}}, .links = {1e9}, .ways = {{}}};
    Links links(job);
    links.begin(0);
    EXPECT_TRUE(std::isinf(links.rate(0)));
}

}  // namespace
}  // namespace orrery::synchrony
