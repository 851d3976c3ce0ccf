// What the parts of the emulated libraries share.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace orrery::emulated {

/// The GPU that this thread of the host uses.
int current_gpu();
/// The next cudaGetLastError() of this thread tells it.
void remember(cudaError_t status);

}  // namespace orrery::emulated
