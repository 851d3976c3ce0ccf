// The one symbol of liborrery_simgrid.so.
#include "sim/simgrid.hpp"
#include "sim/simgrid/cm02_engine.hpp"
#include "sim/simgrid/main_loop.hpp"

extern "C" __attribute__((visibility("default"))) const orrery::sim::Simgrid* orrery_simgrid() {
    static const orrery::sim::Simgrid module{orrery::sim::run_in_simgrid, orrery::sim::new_cm02_engine};
    return &module;
}
