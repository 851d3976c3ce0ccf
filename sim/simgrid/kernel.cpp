#include "sim/simgrid/kernel.hpp"

#include <string>
#include <vector>

#include "base/error.hpp"

/// SimGrid's clock, a static member of a class whose header is not installed (kernel::EngineImpl::now_, 3.32). It is
/// not reset with the engine: after 10^4 simulated seconds it resolves 2e-12 s, too little for steps of milliseconds.
/// Weak: another version may not have it, and then it goes on.
extern "C" [[gnu::weak]] double simgrid_clock asm("_ZN7simgrid6kernel10EngineImpl4now_E");

namespace orrery::sim {

namespace {

/// Only the arguments are read before the first model is made, so the settings go in as a command line.
std::vector<std::string> settings() {
    return {
        "orrery",
        "--log=root.threshold:error",
        "--cfg=network/model:CM02",
        "--cfg=network/crosstraffic:0",
        "--cfg=network/TCP-gamma:1e30",
        "--cfg=surf/precision:1e-12",
#ifdef ORRERY_SANITIZED_ADDRESSES
        "--cfg=contexts/factory:thread",  // the sanitizer cannot follow a stack that is swapped by hand
#endif
    };
}

}  // namespace

SimgridKernel::SimgridKernel() {
    if (simgrid::s4u::Engine::has_instance())
        throw Error("a simulation runs already in this process", "start the second one when the first has ended");
    std::vector<std::string> words = settings();
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int count = static_cast<int>(words.size());
    engine_ = std::make_unique<simgrid::s4u::Engine>(&count, arguments.data());
    if (&simgrid_clock != nullptr) simgrid_clock = 0.0;
}

}  // namespace orrery::sim
