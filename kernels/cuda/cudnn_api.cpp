#include "kernels/cuda/cudnn_api.hpp"

#include <fmt/format.h>

#include <string>

#include "base/error.hpp"
#include "kernels/cuda/library_function.hpp"

// Where the build found the library, so that one of Python's wheels serves: CMakeLists.txt of this folder.
#ifndef ORRERY_CUDNN_LIBRARY
#define ORRERY_CUDNN_LIBRARY ""
#endif

namespace orrery::kernels::cuda::cudnn {

namespace {

/// Whether all are there, and of the version whose numbers cudnn_api.hpp has.
bool fill(void* library, Api& api) {
#define ORRERY_CUDNN_FUNCTION(name) find(library, api.name, #name)
    const bool complete =
        ORRERY_CUDNN_FUNCTION(cudnnGetVersion) && ORRERY_CUDNN_FUNCTION(cudnnGetErrorString) &&
        ORRERY_CUDNN_FUNCTION(cudnnGetLastErrorString) && ORRERY_CUDNN_FUNCTION(cudnnCreate) &&
        ORRERY_CUDNN_FUNCTION(cudnnDestroy) && ORRERY_CUDNN_FUNCTION(cudnnSetStream) &&
        ORRERY_CUDNN_FUNCTION(cudnnBackendCreateDescriptor) && ORRERY_CUDNN_FUNCTION(cudnnBackendDestroyDescriptor) &&
        ORRERY_CUDNN_FUNCTION(cudnnBackendFinalize) && ORRERY_CUDNN_FUNCTION(cudnnBackendSetAttribute) &&
        ORRERY_CUDNN_FUNCTION(cudnnBackendGetAttribute) && ORRERY_CUDNN_FUNCTION(cudnnBackendExecute);
#undef ORRERY_CUDNN_FUNCTION
    constexpr std::size_t major = 9, thousands = 10'000;
    return complete && api.cudnnGetVersion() / thousands == major;
}

/// Null where there is none. What was opened stays: cuDNN has state that ends with the program.
const Api* open(const std::string& path) {
    void* const library = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    Api found{};
    if (library == nullptr || !fill(library, found)) return nullptr;
    static const Api api = found;  // two paths in one program would be two cuDNNs: the first stays
    return &api;
}

}  // namespace

const Api* load(std::string_view path) {
    if (!path.empty()) {
        const Api* const api = open(std::string(path));
        if (api == nullptr)
            throw Error(fmt::format("{} is not a library of cuDNN 9", path),
                        "name libcudnn.so.9 (in Python's wheels: nvidia/cudnn/lib/libcudnn.so.9)");
        return api;
    }
#ifndef ORRERY_WITHOUT_CUDNN
    for (const char* const usual : {ORRERY_CUDNN_LIBRARY, "libcudnn.so.9"})
        if (const Api* const api = open(usual)) return api;
#endif
    return nullptr;
}

}  // namespace orrery::kernels::cuda::cudnn
