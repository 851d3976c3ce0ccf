#include "strategies/partition/memory_format.hpp"

#include <algorithm>

namespace orrery::strategies {

namespace {

using kernels::GemmPass;
using kernels::Pointwise;
using kernels::PointwiseKind;

/// Of a convolution: its operands, and that which a pass forms.
struct Transposes {
    Pointwise image, result, weights;
    bool weights_move = false;  ///< a kernel of one pixel lies the same either way

    explicit Transposes(const kernels::Convolution& c)
        : image{PointwiseKind::transpose, c.dtype, c.input_elements() / c.channels, c.channels},
          result{PointwiseKind::transpose, c.dtype, c.output_elements() / c.outputs, c.outputs},
          weights{PointwiseKind::transpose, c.dtype, c.outputs, c.weights() / c.outputs},
          weights_move(c.kernel_rows * c.kernel_columns > 1) {}

    [[nodiscard]] std::uint64_t bytes() const {
        const auto of = [](const Pointwise& p) { return p.rows * p.cols * kernels::size_of(p.dtype); };
        return of(image) + of(result) + (weights_move ? of(weights) : 0);
    }
};

std::uint64_t transpose_around(std::vector<Work>& list) {
    std::uint64_t most = 0;
    std::vector<Work> around;
    for (Work& work : list) {
        const auto* kernel = std::get_if<kernels::Kernel>(&work.what);
        const auto* convolution = kernel == nullptr ? nullptr : std::get_if<kernels::Convolution>(kernel);
        if (convolution == nullptr || convolution->dtype == kernels::Dtype::fp32) {
            around.push_back(std::move(work));
            continue;
        }
        const GemmPass pass = convolution->pass;
        const Transposes transposes(*convolution);
        const std::string name = work.name;
        const bool of_weights = work.of_weights;
        const auto transpose = [&](const std::string& what, const Pointwise& operand) {
            around.push_back({.name = name + what, .what = operand, .of_weights = of_weights});
        };
        const auto move = [&](bool formed, const std::string& into) {
            if ((pass == GemmPass::data_gradient) == formed) transpose(" images" + into, transposes.image);
            if ((pass == GemmPass::forward) == formed) transpose(" results" + into, transposes.result);
            if ((pass == GemmPass::weight_gradient) == formed && transposes.weights_move)
                transpose(" weights" + into, transposes.weights);
        };
        move(false, ", channels last");
        around.push_back(std::move(work));
        move(true, ", channels first");
        most = std::max(most, transposes.bytes());
    }
    list = std::move(around);
    return most;
}

}  // namespace

void transpose_around_convolutions(Piece& piece) {
    piece.working_bytes += transpose_around(piece.forward);
    transpose_around(piece.backward);
}

}  // namespace orrery::strategies
