// Frozen weights in four bits, beside adapters (QLoRA, Dettmers et al. 2023, arXiv:2305.14314).
//
// bitsandbytes (autograd/_functions.py, MatMul4Bit) and torchao (dtypes/nf4tensor.py, linear_nf4) bring a product's
// weight back to 16 bits before it, in the forward and again before the gradient of its input. Embeddings, logits and
// norms stay as they are.
#include <algorithm>

#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

namespace {

using kernels::Dtype;
using kernels::Gemm;
using kernels::GemmPass;
using kernels::Pointwise;
using kernels::PointwiseKind;

const Gemm* product_of(const Work& work) {
    const auto* kernel = std::get_if<kernels::Kernel>(&work.what);
    return kernel == nullptr ? nullptr : std::get_if<Gemm>(kernel);
}

/// Half a byte and scales in, 16 bits out: 2.5 bytes an element, as a stream of five eighths as many.
Work brought_back(const Gemm& forward) {
    return {"weight to 16 bits", Pointwise{PointwiseKind::scale, Dtype::bf16, forward.n, forward.k / 8 * 5}};
}

void insert_before(std::vector<Work>& works, GemmPass pass, const Work& work) {
    const auto found = std::ranges::find_if(works, [&](const Work& each) {
        const Gemm* const gemm = product_of(each);
        return gemm != nullptr && gemm->pass == pass;
    });
    if (found != works.end()) works.insert(found, work);
}

}  // namespace

void quantize_base(ShardedLayer& layer) {
    for (Piece& piece : layer.pieces) {
        const auto found = std::ranges::find_if(piece.forward, [](const Work& each) { return product_of(each); });
        if (found == piece.forward.end() || piece.frozen_parameters == 0) continue;
        const Gemm product = *product_of(*found);
        const std::uint64_t elements = std::uint64_t{product.n} * product.k;
        if (elements > piece.frozen_parameters) continue;  // no product with a weight: scores of attention
        piece.quantized_parameters = elements;
        piece.working_bytes += elements * kernels::size_of(Dtype::bf16);
        insert_before(piece.forward, GemmPass::forward, brought_back(product));
        insert_before(piece.backward, GemmPass::data_gradient, brought_back(product));
    }
}

}  // namespace orrery::strategies
