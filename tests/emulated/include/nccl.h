// What the project uses of NVIDIA's header of this name (NCCL), over tests/emulated/machine/collectives.cpp.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

enum ncclResult_t {
    ncclSuccess,
    ncclUnhandledCudaError,
    ncclInvalidArgument,
    ncclInvalidUsage,
    ncclRemoteError,
    ncclInProgress,
};
enum ncclDataType_t { ncclChar, ncclUint8, ncclFloat16, ncclFloat32, ncclBfloat16, ncclFloat8e4m3 };
enum ncclRedOp_t { ncclSum, ncclMax };

namespace orrery::emulated {
struct Member;
}
using ncclComm_t = orrery::emulated::Member*;

struct ncclUniqueId {
    char internal[128];
};
struct ncclConfig_t {
    int blocking = 1;
};
#define NCCL_CONFIG_INITIALIZER \
    {}

ncclResult_t ncclGetVersion(int* version);
const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t member);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* member, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t member, ncclResult_t* state);
ncclResult_t ncclCommFinalize(ncclComm_t member);
ncclResult_t ncclCommDestroy(ncclComm_t member);
ncclResult_t ncclCommAbort(ncclComm_t member);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t how,
                           ncclComm_t member, cudaStream_t stream);
ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclComm_t member,
                           cudaStream_t stream);
ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t count, ncclDataType_t type, ncclRedOp_t how,
                               ncclComm_t member, cudaStream_t stream);
ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t member, cudaStream_t stream);
ncclResult_t ncclSend(const void* memory, std::size_t count, ncclDataType_t type, int to, ncclComm_t member,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void* memory, std::size_t count, ncclDataType_t type, int from, ncclComm_t member,
                      cudaStream_t stream);
