// Images whose channels come first, beside kernels that take them last. For the files of partition/ alone.
#pragma once

#include "strategies/partition/tensor.hpp"

namespace orrery::strategies {

/// Puts before each convolution of a piece the transposes of what it reads, and behind it those of what it writes,
/// which cuDNN runs where images have their channels first: its convolutions on tensor cores take them last (NVIDIA,
/// cuDNN Developer Guide, "Tensor Transformations"; Deep Learning Performance, Convolutional Layers User's Guide,
/// "Tensor Layouts In Memory"). Each pass is a call of its own and transposes what it reads again. Weights of one pixel
/// lie the same either way; those in fp32 need no tensor cores, and nothing is transposed. What is transposed lies in
/// cuDNN's workspace beside the tensors themselves.
void transpose_around_convolutions(Piece& piece);

}  // namespace orrery::strategies
