// The text of an NVTX range, as PyTorch's emit_nvtx writes it for operators.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::doors::nsys {

/// "aten::addmm, seq = 40, op_id = 7, sizes = [[64], [32, 16], [16, 64], [], []]", where each part after the name may
/// be left out (PyTorch, torch/csrc/profiler/util.cpp, getNvtxStr). Any other text is a name.
struct Annotation {
    std::string_view name;                         ///< part of the text
    std::int64_t sequence = -1;                    ///< that autograd gives a forward operator and its backward one
    std::vector<std::vector<std::int64_t>> sizes;  ///< by argument
};
Annotation annotation_in(std::string_view text);

}  // namespace orrery::doors::nsys
