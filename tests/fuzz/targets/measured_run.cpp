// What a run measured. One that is accepted is the same when it is written and read again.
#include <cmath>

#include "run/measured.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool measured_run(const std::string& input) {
    const InputFile file(input);
    run::MeasuredRun read;
    if (!accepts(InputFile::path(), [&] { read = run::load_measured(InputFile::path()); })) return false;
    require(std::isfinite(read.step_seconds()) && std::isfinite(read.step_spread()), "a run has a step time");
    const std::string text = run::to_json(read);
    const InputFile written(text);
    require_same(run::to_json(run::load_measured(InputFile::path())), text,
                 "a measured run is itself when it is written and read again");
    return true;
}

}  // namespace orrery::fuzz
