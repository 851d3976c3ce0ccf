// The last product and the loss, part of the tokens by part.
#pragma once

#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

/// Cuts what a product over the vocabulary and the loss behind it do with a rank's tokens into so many parts, each of
/// which goes forward and backward at once: logits of one part are there at a time, and of all of them their
/// input's gradient is kept, as large as the input. Liger's FusedLinearCrossEntropy (Hsu et al. 2024,
/// arXiv:2410.10989, section 3.2), TorchTitan's ChunkedCELoss, xtuner's chunked losses. A part's gradients are formed
/// where the whole loss has them, in the backward: behind the last stage's forward, which is where it begins.
/// Collectives of the product move all tokens at once, those of the loss a part's numbers.
void cut_loss(std::uint64_t tokens, std::uint32_t parts, Piece& product, Piece& loss);

}  // namespace orrery::strategies
