// Functions of libraries that are opened as a program runs.
#pragma once

#include <dlfcn.h>

namespace orrery::kernels::cuda {

/// The library's function of this name, or of the one that older versions have. False: it has neither, and `function`
/// is null.
template <class Function>
bool find(void* library, Function*& function, const char* name, const char* older = nullptr) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    if (function == nullptr && older != nullptr) function = reinterpret_cast<Function*>(dlsym(library, older));
    return function != nullptr;
}

}  // namespace orrery::kernels::cuda
