#include "kernels/backends.hpp"

namespace orrery::kernels {

Backend cpu_backend() { return {"cpu", false, "build on x86-64 with oneDNN (Debian: libdnnl-dev) and OpenMP"}; }

}  // namespace orrery::kernels
