// Functions that the host and a GPU's kernels share.
#pragma once

#ifdef __CUDACC__
#define ORRERY_ON_BOTH __host__ __device__
#else
#define ORRERY_ON_BOTH
#endif
