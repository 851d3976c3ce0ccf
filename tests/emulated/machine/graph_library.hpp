// The emulated cuDNN: what a test asks of it.
#pragma once

#include <cstddef>
#include <vector>

namespace orrery::emulated {

struct GraphLibrary {
    std::size_t version = 91900;
    bool offers_engines = true;
    bool takes_products = true;          ///< false: a description of one is refused
    std::vector<std::size_t> runs = {};  ///< of each graph that was executed, its products
};
/// The one that kernels::cuda::cudnn::load() gives.
GraphLibrary& graph_library();

}  // namespace orrery::emulated
