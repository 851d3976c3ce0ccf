// SimGrid's kernel for the length of one run: the only file that knows how to start and stop it.
#pragma once

#include <memory>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u/Engine.hpp>

namespace orrery::sim {

/// Starts SimGrid with the settings of clean max-min (engine.md), silent, and ends it with its own life. One lives at
/// a time: throws Error when there is one already. The clock begins at zero.
class SimgridKernel {
public:
    SimgridKernel();

    /// A model that the main loop asks for the next event; the first added is asked first. Add before the platform.
    void add(std::shared_ptr<simgrid::kernel::resource::Model> model) { engine_->add_model(std::move(model)); }

    /// SimGrid's main loop, until no model has an event; the platform must exist.
    void run() { engine_->run(); }

private:
    std::unique_ptr<simgrid::s4u::Engine> engine_;
};

}  // namespace orrery::sim
