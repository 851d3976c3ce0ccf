#include "strategies/partition/separate_products.hpp"

#include <numeric>
#include <utility>

#include "strategies/compiled.hpp"
#include "strategies/partition/linear_parts.hpp"

namespace orrery::strategies {

namespace {

using kernels::Gemm;
using kernels::GemmPass;
using kernels::Pointwise;
using kernels::PointwiseKind;

/// A layer as one product: inputs and outputs.
struct Whole {
    std::uint64_t inputs, outputs;
};

/// Where one of its kernels counts outputs; null: another's, such as an adapter's beside it.
std::uint32_t* outputs_of(Gemm& gemm, const Whole& whole) {
    const bool back = gemm.pass == GemmPass::data_gradient;
    const std::uint32_t inputs = back ? gemm.n : gemm.pass == GemmPass::forward ? gemm.k : gemm.m;
    std::uint32_t& outputs = back ? gemm.k : gemm.n;
    return outputs == whole.outputs && inputs == whole.inputs ? &outputs : nullptr;
}
std::uint64_t* outputs_of(Pointwise& over, const Whole& whole) {
    return over.kind == PointwiseKind::bias_gradient && over.cols == whole.outputs ? &over.cols : nullptr;
}
std::uint64_t* outputs_of(auto&, const Whole&) { return nullptr; }

bool set_outputs(Work& work, const Whole& whole, std::uint64_t part) {
    auto* kernel = std::get_if<kernels::Kernel>(&work.what);
    if (kernel == nullptr) return false;
    return std::visit(
        [&](auto& any) {
            auto* outputs = outputs_of(any, whole);
            if (outputs == nullptr) return false;
            *outputs = static_cast<std::remove_pointer_t<decltype(outputs)>>(part);
            return true;
        },
        *kernel);
}

std::vector<Work> separated(std::vector<Work> works, const Whole& whole, const std::vector<std::uint64_t>& products) {
    std::vector<Work> result;
    for (Work& work : works) {
        for (const std::uint64_t part : products) {
            Work one = work;
            if (!set_outputs(one, whole, part)) break;
            one.detail = {};
            result.push_back(std::move(one));
        }
        if (!set_outputs(work, whole, whole.outputs)) result.push_back(std::move(work));
    }
    return result;
}

/// Of the first product of a forward, which is the layer's own.
Whole whole_of(Piece& piece) {
    const auto product = product_in(piece.forward, false);
    const auto& gemm = std::get<Gemm>(std::get<kernels::Kernel>(product->what));
    return {gemm.k, std::accumulate(piece.results.products.begin(), piece.results.products.end(), std::uint64_t{0})};
}

}  // namespace

std::vector<std::uint64_t> separate_outputs(const models::Linear& op, const LayerStream& stream) {
    using models::Dim;
    const Plan& plan = stream.plan;
    const bool heads = op.out == Dim::qkv && plan.heads_apart();
    const bool gate = op.out == Dim::ffn && plan.gate_apart();
    std::vector<std::uint64_t> outputs{op.out == Dim::vocab ? plan.padded_vocab() : op.out_features};
    if (heads || gate) outputs = output_parts(op, plan);
    for (std::uint64_t& part : outputs) part /= split_by_tensor(op.out) ? stream.tensor : 1;
    return outputs;
}

void add_gradient_sums(const LayerStream& stream, std::vector<Work>& list, std::size_t products, const Cells& gradient,
                       std::uint8_t needs) {
    const std::string name = "sum gradients of one input";
    const std::uint64_t sums = products - 1;
    if (sums > 0 && is_compiled(stream.plan.training)) {  // a kernel that reads and writes half as much
        const Cells half{gradient.element, (sums * gradient.rows + 1) / 2, gradient.cols};
        list.push_back({.name = name, .what = half.by(PointwiseKind::scale), .needs = needs});
        return;
    }
    for (std::uint64_t i = 0; i < sums; ++i)
        list.push_back({.name = name, .what = gradient.by(PointwiseKind::add), .needs = needs});
}

void separate_products(ShardedLayer& layer) {
    for (Piece& piece : layer.pieces) {
        const std::vector<std::uint64_t>& products = piece.results.products;
        if (products.size() < 2) continue;
        layer.flow.complete = false;
        const Whole whole = whole_of(piece);
        for (auto* list : {&piece.forward, &piece.backward}) *list = separated(std::move(*list), whole, products);
    }
}

}  // namespace orrery::strategies
