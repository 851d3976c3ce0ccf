#include "synchrony/workers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "synchrony/links.hpp"

namespace orrery::synchrony {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class Window {
public:
    Window(const Job& job, std::uint64_t seed) : job_(job), seed_(seed), links_(job), states_(job.workers.size()) {
        outcome_.job = job;
        outcome_.workers.resize(states_.size());
        wanted_ = std::uint64_t{job.options.steps} * states_.size();
        if (job.options.mode == Mode::bsp) bound_ = 0;
        if (job.options.mode == Mode::ssp) bound_ = job.options.staleness;
    }

    Outcome play() && {
        admit();
        while (outcome_.updates < wanted_) {
            advance();
            for (std::uint32_t w = 0; w < states_.size() && outcome_.updates < wanted_; ++w) settle(w);
            admit();
        }
        outcome_.seconds = now_;
        outcome_.missed = missed_ / static_cast<double>(outcome_.updates);
        outcome_.link_busy = links_.busiest(now_);
        return std::move(outcome_);
    }

private:
    enum class Doing : std::uint8_t { waiting, pulling, computing, pushing };
    struct State {
        Doing doing = Doing::waiting;
        double left = 0;  ///< bytes of the transfer, or seconds of the computation
        std::uint64_t updates_seen = 0;
    };

    [[nodiscard]] std::uint32_t way(std::uint32_t w) const {
        return Links::way(job_.workers[w], states_[w].doing == Doing::pushing);
    }
    [[nodiscard]] bool transfers(std::uint32_t w) const {
        return states_[w].doing == Doing::pulling || states_[w].doing == Doing::pushing;
    }
    [[nodiscard]] std::uint64_t& steps(std::uint32_t w) { return outcome_.workers[w].steps; }

    /// Workers that may begin do so.
    void admit() {
        std::uint64_t least = steps(0);
        for (std::uint32_t w = 1; w < states_.size(); ++w) least = std::min(least, steps(w));
        for (std::uint32_t w = 0; w < states_.size(); ++w) {
            if (states_[w].doing != Doing::waiting || steps(w) - least > bound_) continue;
            const std::uint64_t behind = steps(w) - least;
            if (outcome_.staleness.size() <= behind) outcome_.staleness.resize(behind + 1);
            ++outcome_.staleness[behind];
            states_[w].updates_seen = outcome_.updates;
            begin_transfer(w, Doing::pulling, job_.pull_bytes);
        }
    }

    void begin_transfer(std::uint32_t w, Doing doing, double bytes) {
        states_[w].doing = doing;
        states_[w].left = bytes;
        links_.begin(way(w));
    }

    [[nodiscard]] double seconds_left(std::uint32_t w) {
        const State& state = states_[w];
        if (state.doing == Doing::waiting) return infinity;
        return state.doing == Doing::computing ? state.left : state.left / links_.rate(way(w));
    }

    /// To the next moment at which somebody has done.
    void advance() {
        double next = infinity;
        for (std::uint32_t w = 0; w < states_.size(); ++w) next = std::min(next, seconds_left(w));
        // What ends within rounding of it ends with it, lest workers in step fall apart.
        constexpr double rounding = 1e-12;
        const double together = next + rounding * (now_ + next);
        for (std::uint32_t w = 0; w < states_.size(); ++w) {
            State& state = states_[w];
            const double left = seconds_left(w);
            WorkerTime& time = outcome_.workers[w];
            (state.doing == Doing::waiting     ? time.waiting
             : state.doing == Doing::computing ? time.computing
                                               : time.exchanging) += next;
            if (state.doing == Doing::waiting) continue;
            const bool done = left <= together;
            state.left = done ? 0 : state.left - next * (transfers(w) ? links_.rate(way(w)) : 1);
        }
        links_.advance(next);
        now_ += next;
    }

    /// What a worker that has done goes on with.
    void settle(std::uint32_t w) {
        State& state = states_[w];
        if (state.doing == Doing::waiting || state.left > 0) return;
        if (transfers(w)) links_.end(way(w));
        switch (state.doing) {
            case Doing::waiting: return;
            case Doing::pulling:
                state.doing = Doing::computing;
                state.left = step_seconds(job_, w, steps(w), now_, seed_);
                return;
            case Doing::computing: return begin_transfer(w, Doing::pushing, job_.push_bytes);
            case Doing::pushing:
                missed_ += static_cast<double>(outcome_.updates - state.updates_seen);
                ++outcome_.updates;
                ++steps(w);
                state.doing = Doing::waiting;
        }
    }

    const Job& job_;
    std::uint64_t seed_;
    Links links_;
    std::vector<State> states_;
    std::uint64_t bound_ = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t wanted_ = 0;
    double now_ = 0, missed_ = 0;
    Outcome outcome_;
};

}  // namespace

Outcome simulate_served(const Job& job, std::uint64_t seed) { return Window(job, seed).play(); }

}  // namespace orrery::synchrony
