// Foldings of steps on one cluster, kept for others with the same traffic.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "sim/folding.hpp"

namespace orrery::sim {

/// Plans that differ in time and memory alone fold alike. For threads; those used last are kept, some hundred MB at
/// most, and none in which every rank is a class. Of one cluster and its profiles, nothing marked.
class Foldings {
public:
    /// fold_ranks() of the traffic.
    std::shared_ptr<const Folding> of(Traffic traffic, const Network& network, bool fold,
                                      Binding binding = Binding::all);

private:
    [[nodiscard]] std::shared_ptr<const Folding> find(const Traffic& traffic, bool fold, Binding binding);
    void keep(std::shared_ptr<const Folding> folding);

    std::mutex mutex_;
    std::list<std::shared_ptr<const Folding>> kept_;  // the one used last in front
    std::size_t ranks_ = 0;                           // of all of them
};

}  // namespace orrery::sim
