#include "sim/simgrid.hpp"

#include <dlfcn.h>

#include <string>

#include "base/error.hpp"

namespace orrery::sim {

namespace {

/// Stays open: SimGrid's libraries cannot be closed and opened again. The program's RUNPATH says where to look.
const Simgrid& open_module() {
    constexpr const char* remedy = "liborrery_simgrid.so is built with the program and stays beside it";
    void* module = dlopen("liborrery_simgrid.so", RTLD_LAZY | RTLD_LOCAL);
    if (module == nullptr) throw Error("SimGrid cannot be opened: " + std::string(dlerror()), remedy);
    using Entry = const Simgrid* (*)();
    const auto entry = reinterpret_cast<Entry>(dlsym(module, "orrery_simgrid"));
    if (entry == nullptr) throw Error("SimGrid's module is of another build: " + std::string(dlerror()), remedy);
    return *entry();
}

}  // namespace

const Simgrid& simgrid() {
    static const Simgrid& opened = open_module();
    return opened;
}

SimgridAhead::SimgridAhead()
    : opening_([] {
          try {
              (void)simgrid();
          } catch (const Error&) {  // told to who asks, who tries again
          }
      }) {}

SimgridAhead::~SimgridAhead() { opening_.join(); }

std::unique_ptr<Engine> make_fluid_engine_in_simgrid(std::vector<double> capacity_bytes_per_second) {
    return make_fluid_engine_under(simgrid().main_loop, std::move(capacity_bytes_per_second));
}

std::unique_ptr<Engine> make_cm02_engine(std::vector<double> capacity_bytes_per_second) {
    return simgrid().cm02_engine(std::move(capacity_bytes_per_second));
}

}  // namespace orrery::sim
