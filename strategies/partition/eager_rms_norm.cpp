#include "strategies/partition/eager_rms_norm.hpp"

#include <initializer_list>

namespace orrery::strategies {

namespace {

using kernels::Dtype;
using kernels::Pointwise;
using kernels::PointwiseKind;

struct NormStep {
    const char* name;
    PointwiseKind kind;
    bool wide = true;  ///< in fp32
    bool of_weights = false;
};

/// Of what is in fp32 anyway a cast is none.
void write_steps(const LayerStream& stream, std::vector<Work>& list, const std::string& norm, std::uint64_t rows,
                 std::uint64_t width, std::initializer_list<NormStep> steps) {
    for (const NormStep& step : steps) {
        if (step.kind == PointwiseKind::cast && stream.residual_element == Dtype::fp32) continue;
        const Dtype element = step.wide ? Dtype::fp32 : stream.residual_element;
        list.push_back({.name = norm + " " + step.name,
                        .what = Pointwise{step.kind, element, rows, width},
                        .of_weights = step.of_weights});
    }
}

}  // namespace

void write_eager_rms_norm(const LayerStream& stream, Piece& piece, std::uint64_t rows, std::uint64_t width) {
    using enum PointwiseKind;
    piece.forward.clear();
    piece.backward.clear();
    write_steps(stream, piece.forward, piece.name, rows, width,
                {{"to fp32", cast, false},
                 {"square", scale},
                 {"mean", sum_of_squares},
                 {"by inverse root", scale},
                 {"from fp32", cast, false},
                 {"by weight", scale, false}});
    write_steps(stream, piece.backward, piece.name + " backward", rows, width,
                {{"by weight", scale, false},
                 {"weight gradient", add, false, true},
                 {"weight gradient sum", bias_gradient, false, true},
                 {"to fp32", cast, false},
                 {"by inverse root", scale},
                 {"inverse root", add},
                 {"inverse root sum", sum_of_squares},
                 {"twice", scale},
                 {"square", scale},
                 {"sum", add},
                 {"from fp32", cast, false}});
    const std::uint64_t elements = rows * width;
    const std::uint64_t kept =
        stream.residual_element == Dtype::fp32 ? 4 : 4 + kernels::size_of(stream.residual_element);
    piece.saved_bytes += elements * kept;
}

}  // namespace orrery::strategies
