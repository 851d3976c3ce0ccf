#include "strategies/partition/chunked_loss.hpp"

namespace orrery::strategies {

namespace {

using kernels::Gemm;
using kernels::GemmPass;
using kernels::Pointwise;

class Cut {
public:
    Cut(std::uint64_t tokens, std::uint32_t parts) : tokens_(tokens), parts_(parts) {}

    /// Each work of the tokens becomes one of every part. of_loss: collectives too.
    void apply(std::vector<Work>& list, bool of_loss) const {
        std::vector<Work> all;
        for (Work& work : list) {
            const std::uint32_t times = takes_part(work, of_loss) ? parts_ : 1;
            work.detail = {};  // nothing is said of where a part lies
            all.insert(all.end(), times, work);
        }
        list = std::move(all);
    }

private:
    bool takes_part(Work& work, bool of_loss) const {
        if (auto* collective = std::get_if<LayerCollective>(&work.what)) {
            if (of_loss) collective->bytes /= parts_;
            return of_loss;
        }
        auto& kernel = std::get<kernels::Kernel>(work.what);
        if (auto* gemm = std::get_if<Gemm>(&kernel)) {
            (gemm->pass == GemmPass::weight_gradient ? gemm->k : gemm->m) /= parts_;
            return true;
        }
        auto& pass = std::get<Pointwise>(kernel);
        if (pass.rows == tokens_)
            pass.rows /= parts_;
        else if (pass.rows == 1 && pass.cols == tokens_)
            pass.cols /= parts_;
        else
            return work.of_weights;  // a part's gradient is added; weights are cast once
        return true;
    }

    std::uint64_t tokens_;
    std::uint32_t parts_;
};

}  // namespace

void cut_loss(std::uint64_t tokens, std::uint32_t parts, Piece& product, Piece& loss) {
    const Cut cut(tokens, parts);
    for (auto* list : {&product.forward, &product.backward}) cut.apply(*list, false);
    for (auto* list : {&loss.forward, &loss.backward}) cut.apply(*list, true);
    product.output_gradient_bytes /= parts;
    const std::uint64_t input = product.input_bytes;
    if (product.working_bytes > input) product.working_bytes = input + (product.working_bytes - input) / parts;
    loss.working_bytes = (loss.working_bytes + loss.saved_bytes) / parts;
    loss.saved_bytes = 0;
}

}  // namespace orrery::strategies
