// SimGrid, opened when it is first asked for: programs that never ask start without its libraries.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "sim/engine.hpp"

namespace orrery::sim {

/// What the module liborrery_simgrid.so gives (simgrid/module.cpp).
struct Simgrid {
    MainLoop main_loop;  ///< SimGrid's, which knows of one model besides its own: the events
    std::unique_ptr<Engine> (*cm02_engine)(std::vector<double> capacity_bytes_per_second);
};

/// Looked for beside the program, in the folder above, and where the system's libraries are. Throws Error where it
/// cannot be opened.
const Simgrid& simgrid();

/// Opens SimGrid beside what its owner does meanwhile, for whoever will ask for it: its libraries' relocations take as
/// long as reading a scenario. Where it cannot be opened, who asks is told.
class SimgridAhead {
public:
    SimgridAhead();
    ~SimgridAhead();
    SimgridAhead(const SimgridAhead&) = delete;
    SimgridAhead& operator=(const SimgridAhead&) = delete;

private:
    std::thread opening_;
};

}  // namespace orrery::sim
