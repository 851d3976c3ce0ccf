// What the parts of the emulated libraries share.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace orrery::emulated {

/// The GPU that this thread of the host uses.
int current_gpu();
/// The next cudaGetLastError() of this thread tells it.
void remember(cudaError_t status);
/// The same, and the answer of a call.
cudaError_t told(cudaError_t status);
/// A call that CUDA does not allow: the machine is in error from then on.
cudaError_t misuse(cudaError_t status, const std::string& what);

}  // namespace orrery::emulated
