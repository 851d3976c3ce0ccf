// SimGrid's main loop for events that are not its own.
#pragma once

#include "sim/engine.hpp"

namespace orrery::sim {

/// A MainLoop: the events are one resource model of SimGrid's, whose clock follows them. One at a time in a process:
/// throws Error while another runs.
void run_in_simgrid(EventSource& events);

}  // namespace orrery::sim
