#include "strategies/partition/separate_products.hpp"

#include <numeric>
#include <utility>

#include "base/overloaded.hpp"
#include "strategies/compiled.hpp"
#include "strategies/partition/linear_parts.hpp"

namespace orrery::strategies {

namespace {

using kernels::Gemm;
using kernels::GemmPass;
using kernels::Pointwise;
using kernels::PointwiseKind;

/// Where a kernel over so many outputs counts them; null: of another.
std::uint32_t* outputs_of(Gemm& gemm, std::uint64_t all) {
    std::uint32_t& outputs = gemm.pass == GemmPass::data_gradient ? gemm.k : gemm.n;
    return outputs == all ? &outputs : nullptr;
}
std::uint64_t* outputs_of(Pointwise& over, std::uint64_t all) {
    return over.kind == PointwiseKind::bias_gradient && over.cols == all ? &over.cols : nullptr;
}
std::uint64_t* outputs_of(auto&, std::uint64_t) { return nullptr; }

bool set_outputs(Work& work, std::uint64_t all, std::uint64_t part) {
    auto* kernel = std::get_if<kernels::Kernel>(&work.what);
    if (kernel == nullptr) return false;
    return std::visit(
        [&](auto& any) {
            auto* outputs = outputs_of(any, all);
            if (outputs == nullptr) return false;
            *outputs = static_cast<std::remove_pointer_t<decltype(outputs)>>(part);
            return true;
        },
        *kernel);
}

std::vector<Work> separated(std::vector<Work> works, const std::vector<std::uint64_t>& products) {
    const std::uint64_t all = std::accumulate(products.begin(), products.end(), std::uint64_t{0});
    std::vector<Work> result;
    for (Work& work : works) {
        for (const std::uint64_t part : products) {
            Work one = work;
            if (!set_outputs(one, all, part)) break;
            one.detail = {};
            result.push_back(std::move(one));
        }
        if (!set_outputs(work, all, all)) result.push_back(std::move(work));
    }
    return result;
}

}  // namespace

std::vector<std::uint64_t> separate_outputs(const models::Linear& op, const LayerStream& stream) {
    using models::Dim;
    const Plan& plan = stream.plan;
    const bool heads = op.out == Dim::qkv && plan.model.kv_lora_rank == 0 && !plan.training.fused_qkv;
    const bool gate = op.out == Dim::ffn && plan.model.gated && !plan.training.fused_gate;
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
        for (auto* list : {&piece.forward, &piece.backward}) *list = separated(std::move(*list), products);
    }
}

}  // namespace orrery::strategies
