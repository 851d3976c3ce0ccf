// Jobs of workers to hold laws against.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/random.hpp"
#include "synchrony/window.hpp"

namespace orrery::synchrony {

/// 2 to 9 workers, each on a node of its own, with a server on all of them; some are slow. fast_links: transfers take
/// next to nothing.
inline Job random_job(std::uint64_t seed, bool fast_links = false) {
    Random random(seed);
    const auto upto = [&](double most) { return random.uniform() * most; };
    Job job;
    job.options.exchange = Exchange::parameter_server;
    job.options.steps = 20;
    job.options.step_jitter = random.uniform() < 0.5 ? 0 : upto(0.5);
    const auto workers = static_cast<std::uint32_t>(2 + upto(7));
    job.push_bytes = upto(1e9);
    job.pull_bytes = upto(1e9);
    job.reduce_s = upto(0.1);
    job.tokens = 1000;
    for (std::uint32_t w = 0; w < workers; ++w) {
        Worker worker{.compute_s = 0.1 + upto(0.1), .ways = w};
        if (random.uniform() < 0.3) worker.parts.push_back({{.factor = 1 + upto(2)}});
        job.workers.push_back(worker);
        const double rate = fast_links ? 1e18 : 1e9 + upto(1e10);
        job.links.insert(job.links.end(), {rate, rate});
    }
    for (std::uint32_t w = 0; w < workers; ++w) {
        Ways ways;
        for (std::uint32_t server = 0; server < workers; ++server) {
            if (server == w) continue;
            ways.push.push_back({2 * server + 1, 1.0 / workers});
            ways.pull.push_back({2 * server, 1.0 / workers});
        }
        ways.push.push_back({2 * w, (workers - 1.0) / workers});
        ways.pull.push_back({2 * w + 1, (workers - 1.0) / workers});
        job.ways.push_back(ways);
    }
    return job;
}

inline Job with(Job job, Mode mode, std::uint32_t staleness = 0) {
    job.options.mode = mode;
    job.options.staleness = staleness;
    return job;
}

inline constexpr std::uint64_t jobs = 200;

}  // namespace orrery::synchrony
