#include "strategies/partition/adapter_works.hpp"

#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

using kernels::Dtype;
using kernels::Gemm;
using kernels::GemmPass;
using kernels::PointwiseKind;

AdapterWorks::AdapterWorks(const Plan& plan)
    : dtype_(activation_dtype(plan)),
      apart_(plan.training.kernel_fusion != KernelFusion::full),
      casts_(apart_ && plan.training.wide_adapters && kernels::size_of(dtype_) == 2),
      drops_(plan.training.lora_dropout > 0) {}

std::uint64_t AdapterWorks::input_bytes(std::uint64_t elements) const {
    return elements * (kernels::size_of(dtype_) + (drops_ ? 1 : 0));
}

void AdapterWorks::product(std::vector<Work>& list, const char* name, const Gemm& shape) const {
    list.push_back({.name = name, .what = shape, .of_weights = shape.pass == GemmPass::weight_gradient});
}

void AdapterWorks::weights(std::vector<Work>& list, const char* what, std::uint64_t elements, bool of_weights) const {
    if (casts_)
        list.push_back(
            {.name = what, .what = Cells{dtype_, 1, elements}.by(PointwiseKind::cast), .of_weights = of_weights});
}

/// Its input, as the first product takes it.
void AdapterWorks::take(const Gemm& base) {
    const Cells narrow{dtype_, base.m, base.k}, worked{casts_ ? Dtype::fp32 : dtype_, base.m, base.k};
    if (casts_) forward_.push_back({"adapter input to fp32", narrow.by(PointwiseKind::cast)});
    if (drops_) forward_.push_back({"adapter dropout", worked.by(PointwiseKind::dropout)});
    if (casts_) forward_.push_back({"adapter input to 16 bits", narrow.by(PointwiseKind::cast)});
}

/// The gradient of its input, which is added to that of the frozen product's.
void AdapterWorks::give_back(const Gemm& base) {
    const Cells narrow{dtype_, base.m, base.k}, worked{casts_ ? Dtype::fp32 : dtype_, base.m, base.k};
    if (casts_) backward_.push_back({"adapter input gradient to fp32", narrow.by(PointwiseKind::cast)});
    if (drops_) backward_.push_back({"adapter dropout backward", worked.by(PointwiseKind::dropout_backward)});
    if (casts_) backward_.push_back({"adapter input gradient to 16 bits", narrow.by(PointwiseKind::cast)});
    backward_.push_back({"add adapter gradient", narrow.by(PointwiseKind::add)});
}

void AdapterWorks::add(const Gemm& base, std::uint32_t columns, std::uint32_t rank) {
    const std::size_t forward = forward_.size(), backward = backward_.size();
    const Cells result{dtype_, base.m, columns};
    const std::uint64_t in = std::uint64_t{base.k} * rank, out = std::uint64_t{columns} * rank;
    take(base);
    weights(forward_, "adapter weight to 16 bits", in, false);
    product(forward_, "adapter in", {dtype_, 1, base.m, rank, base.k, GemmPass::forward});
    weights(forward_, "adapter weight to 16 bits", out, false);
    product(forward_, "adapter out", {dtype_, 1, base.m, columns, rank, GemmPass::forward});
    if (apart_) forward_.push_back({"scale adapter", result.by(PointwiseKind::scale)});
    forward_.push_back({"add adapter", result.by(PointwiseKind::add)});
    if (apart_) backward_.push_back({"scale adapter backward", result.by(PointwiseKind::scale)});
    product(backward_, "adapter out wgrad", {dtype_, 1, rank, columns, base.m, GemmPass::weight_gradient});
    weights(backward_, "adapter gradient to fp32", out, true);
    product(backward_, "adapter out dgrad", {dtype_, 1, base.m, rank, columns, GemmPass::data_gradient});
    product(backward_, "adapter in wgrad", {dtype_, 1, base.k, rank, base.m, GemmPass::weight_gradient});
    weights(backward_, "adapter gradient to fp32", in, true);
    product(backward_, "adapter in dgrad", {dtype_, 1, base.m, base.k, rank, GemmPass::data_gradient});
    give_back(base);
    for (std::size_t i = forward; i < forward_.size(); ++i) forward_[i].single = apart_;
    for (std::size_t i = backward; i < backward_.size(); ++i) backward_[i].single = apart_;
}

}  // namespace orrery::strategies
