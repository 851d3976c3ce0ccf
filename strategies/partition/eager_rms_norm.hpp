// RMSNorm where it is not one kernel.
#pragma once

#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

/// Replaces a norm's kernels by PyTorch's, one an operator, as Llama's code writes it (meta-llama/llama, model.py,
/// RMSNorm; Hugging Face, modeling_llama.py): the input to fp32, its square, the mean over a row, the product with the
/// root's inverse, back to 16 bits, the product with the weights; backward what autograd runs for each. 36 bytes an
/// element forward and 76 backward in 16 bits, where one kernel moves 4 and 6. For the backward the fp32 input and the
/// normalised one in 16 bits are kept besides.
void write_eager_rms_norm(const LayerStream& stream, Piece& piece, std::uint64_t rows, std::uint64_t width);

}  // namespace orrery::strategies
