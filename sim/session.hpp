// What predictions of many plans have in common.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "calibrate/profile_store.hpp"
#include "scenarios/scenario.hpp"
#include "sim/foldings.hpp"
#include "sim/kinds.hpp"

namespace orrery::sim {

/// A cluster with the profiles of its GPUs, and what is known of steps on it.
struct Site {
    Site(topology::Cluster what, Profiles of_gpus) : cluster(std::move(what)), profiles(std::move(of_gpus)) {}

    topology::Cluster cluster;
    Profiles profiles;
    Foldings foldings;
};

/// As one prediction needs it. Throws Error as profiles_of() and topology::build() do.
std::shared_ptr<Site> make_site(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles);

/// Keeps some sites between predictions, of any scenarios and in any number of threads. One store of profiles, which
/// must
/// outlive it, serves all of them. Files that a cluster is read from are read once.
class Session {
public:
    /// From now on the process keeps freed memory for its next prediction: a third of one is the kernel's work on pages
    /// else.
    Session();

    /// Throws Error as profiles_of() and topology::build() do.
    std::shared_ptr<Site> site(const scenarios::Scenario& scenario, calibrate::ProfileStore& profiles);

private:
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<Site>> sites_;  // by all that decides them
};

}  // namespace orrery::sim
