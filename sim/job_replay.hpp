// One job of a replay, step after step.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/rendezvous.hpp"
#include "sim/replay.hpp"
#include "sim/tape.hpp"

namespace orrery::sim {

/// How far one class of ranks has come.
struct Progress {
    /// What a lane's next operation can wait for besides the place of an operation.
    static constexpr std::uint32_t a_sync = Place::none;

    const Tape* tape = nullptr;
    double* ends = nullptr;              // of operations that others wait for, by Tape's slots
    double last_sync = 0;                // when the host passed it
    std::vector<Span>* spans = nullptr;  // from first_span on; null: not recorded
    std::uint32_t first_span = 0;
    std::uint32_t passed = 0;                     // syncs
    std::uint32_t ended = 0;                      // operations
    std::uint32_t ready = (1U << all_lanes) - 1;  // lanes whose next operation may be able to begin, one bit each
    std::uint32_t waiting = 0;                    // lanes whose last operation is a transfer that has not ended
    std::uint32_t blocked = 0;                    // lanes that wait for blocked_on
    std::array<std::uint32_t, strategies::lanes> next{};  // operations of each lane that have begun
    std::array<std::uint32_t, all_lanes> done{};          // operations of each lane that have ended; in their order
    std::array<std::uint32_t, all_lanes> blocked_on{};
    std::array<double, strategies::lanes> lane_free{};

    /// A step from its beginning.
    void begin(double at) {
        const Progress fresh{.tape = tape, .ends = ends, .last_sync = at, .spans = spans, .first_span = first_span};
        *this = fresh;
        lane_free.fill(at);
    }

    /// An operation that ended at a known time; all in program order but for those that had not begun.
    void has_run(const Tape::Op& op, double end) {
        const std::size_t lane = op.lane();
        ++ended;
        ++done[lane];
        if (op.slot != Slots::none) ends[op.slot] = end;
        if (lane == sync_lane) {
            ++passed;
            last_sync = end;
        } else {
            ++next[lane];
            lane_free[lane] = end;
        }
    }

    /// The lane cannot go on before `what`.
    void block(std::size_t lane, std::uint32_t what) {
        blocked_on[lane] = what;
        blocked |= 1U << lane;
    }
    /// Lanes that wait for `what` may begin.
    void wake(std::uint32_t what) {
        for (std::uint32_t left = blocked; left != 0; left &= left - 1) {
            const auto lane = static_cast<std::size_t>(std::countr_zero(left));
            if (blocked_on[lane] != what) continue;
            blocked &= ~(1U << lane);
            ready |= 1U << lane;
        }
    }
};

/// Its timers and flows bear first_tag + what they are: the number of a transfer, or one of these.
class JobReplay {
public:
    static constexpr std::uint64_t step_begins = std::uint64_t{1} << 32U, step_ends = step_begins + 1;

    /// count_bytes: Replayed::own_bytes is wanted.
    JobReplay(const ReplayJob& job, std::uint64_t first_tag, const Network& network, Engine& engine,
              const Perturbed* perturbed, bool count_bytes);

    /// Begins the first step, or has the engine say when.
    void start();
    /// A step; `at` is now.
    void begin(double at);
    /// The step has ended. Whether it was the first; throws Error where there have been too many.
    bool end_step();
    /// The latency of a transfer is over, its bytes are to move; all of it is over.
    void transfer(Rendezvous::Number number);
    void end_transfer(Rendezvous::Number number);

    /// Of a step over all classes, and those of this step that have not ended.
    [[nodiscard]] std::uint64_t operations() const { return operations_; }
    [[nodiscard]] std::uint64_t left() const { return left_; }

    /// Of the first step. Throws std::logic_error when it has not ended.
    [[nodiscard]] Replayed result() &&;

private:
    /// How far a class had come that is known.
    struct Come {
        Come() = default;
        Come(const Tape& tape, const KnownStart& known, const std::vector<Span>& spans);

        Progress progress;
        std::vector<double> ends;
        std::uint32_t slots = 1;  // that operations yet to run use: the lowest ones
    };

    void set_out();
    void record(std::span<const std::uint32_t> classes);
    void look_back();
    void go_on();
    [[nodiscard]] std::uint32_t known_class(std::uint32_t who) const;
    void advance(std::uint32_t who);
    void work();
    static double waits_end(Progress& p, const Tape::Op& op, std::size_t lane);
    void pass_syncs(Progress& p);
    void run_lane(std::uint32_t who, Progress& p, std::size_t lane);
    void time(std::uint32_t who, Progress& p, std::uint32_t index, double device);
    [[nodiscard]] strategies::Collective collective(const Tape::Op& op, std::uint32_t who) const;
    void end_operation(Progress& p, const Tape::Op& op, std::uint32_t index, double begin, double end);
    void record(Progress& p, const Tape::Op& op, std::uint32_t index, Span span);
    void begin_transfer(std::optional<Rendezvous::Number> number);
    void finish(Rendezvous::Number number, double begin, double end);
    [[noreturn]] void refuse() const;

    Engine& engine_;
    Rendezvous rendezvous_;
    const Perturbed* perturbed_;
    std::uint64_t first_tag_;
    double starts_at_;
    std::optional<Tapes> own_tapes_;
    const KnownStart* known_;
    std::vector<Come> come_;  // by known class
    std::vector<Progress> progress_;
    std::vector<double> ends_;
    std::vector<std::uint32_t> work_;
    std::uint32_t steps_ = 0;  // that have ended
    std::uint64_t operations_ = 0;
    std::uint64_t left_ = 0;  // operations of this step that have not ended
    double end_ = 0;          // of this step, as far as known
    Replayed result_;
};

}  // namespace orrery::sim
