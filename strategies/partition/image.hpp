// Operators over images on one rank: each holds whole images and all weights.
#pragma once

#include "models/operators.hpp"
#include "strategies/partition/tensor.hpp"

namespace orrery::strategies {

/// The plan's tensor axis is 1 (validate() refuses others). What a backward needs is kept once: a convolution, a batch
/// norm and a pooling keep their inputs, as PyTorch's do, and a ReLU works where it stands and needs what the next one
/// keeps.
Piece convolution_piece(const models::Convolution& op, const Plan& plan);
Piece batch_norm_piece(const models::BatchNorm& op, const Plan& plan);
Piece relu_piece(const models::Relu& op, const Plan& plan);
Piece pooling_piece(const models::Pooling& op, const Plan& plan);
Piece join_piece(const models::Join& op, const Plan& plan);

/// Bytes of a micro-batch of images.
std::uint64_t images_bytes(const models::Image& image, const Plan& plan);

}  // namespace orrery::strategies
