// The processes that share the work of one command. `orrery` is alone; `orrery-worker` is one of a job's ranks.
#pragma once

#include "planning/crew.hpp"

namespace orrery::cli {

class Ranks {
public:
    virtual ~Ranks() = default;
    /// Whether this one asks, writes and speaks; the others only simulate.
    [[nodiscard]] virtual bool lead() const { return true; }
    /// Threads of each process where its user names none.
    [[nodiscard]] virtual unsigned usual_threads() const;
    /// Of the leader: so many threads of its own, and all threads of the others. Throws where one of them cannot serve.
    [[nodiscard]] virtual planning::Crew crew(unsigned threads);
    /// Of the others: simulates with so many threads what the leader asks, until it is done.
    virtual void serve(const planning::Simulate& simulate, unsigned threads);
};

/// The process by itself.
Ranks& alone();

}  // namespace orrery::cli
