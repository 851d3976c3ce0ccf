// Frozen weights in four bits, beside adapters (QLoRA, Dettmers et al. 2023, arXiv:2305.14314).
//
// bitsandbytes (autograd/_functions.py, MatMul4Bit) and torchao (dtypes/nf4tensor.py, linear_nf4) bring a product's
// weight back to 16 bits before it, in the forward and again before the gradient of its input. Embeddings, logits and
// norms stay as they are.
#include "strategies/partition/linear_parts.hpp"
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

namespace {

using kernels::Dtype;
using kernels::Gemm;
using kernels::Pointwise;
using kernels::PointwiseKind;

/// Half a byte and scales in, 16 bits out: 2.5 bytes an element, as a stream of five eighths as many.
Work brought_back(const Gemm& forward) {
    return {"weight to 16 bits", Pointwise{PointwiseKind::scale, Dtype::bf16, forward.n, forward.k / 8 * 5}};
}

}  // namespace

void quantize_base(ShardedLayer& layer) {
    for (Piece& piece : layer.pieces) {
        const auto forward = product_in(piece.forward, false);
        if (forward == piece.forward.end() || piece.counts.frozen == 0) continue;
        const Gemm product = std::get<Gemm>(std::get<kernels::Kernel>(forward->what));
        const std::uint64_t elements = std::uint64_t{product.n} * product.k;
        if (elements > piece.counts.frozen) continue;  // no product with a weight: scores of attention
        piece.counts.quantized = elements;
        piece.working_bytes += elements * kernels::size_of(Dtype::bf16);
        piece.forward.insert(forward, brought_back(product));
        if (const auto backward = product_in(piece.backward, true); backward != piece.backward.end())
            piece.backward.insert(backward, brought_back(product));
    }
}

}  // namespace orrery::strategies
