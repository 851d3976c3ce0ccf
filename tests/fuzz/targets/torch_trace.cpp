// A trace of torch.profiler.
#include "doors/trace/measurement.hpp"
#include "tests/fuzz/measured_step.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool torch_trace(const std::string& input) {
    const InputFile file(input);
    doors::trace::Measurement measured;
    if (!accepts(InputFile::path(), [&] { measured = doors::trace::measure({InputFile::path()}); })) return false;
    require_usable(measured);
    return true;
}

}  // namespace orrery::fuzz
