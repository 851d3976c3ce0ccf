// A linear layer whose products run in parts, beside what tensor ranks exchange (tp_comm_overlap).
#include "strategies/partition/linear_sharder.hpp"
#include "strategies/partition/overlapped.hpp"

namespace orrery::strategies {

using kernels::Gemm;
using kernels::GemmPass;

/// What the ranks' products take or leave moves in parts; in fp8 as they take it.
void LinearSharder::overlapped_forward() {
    auto& list = piece_.forward;
    const Product product{stream_, op_.name, gemm_};
    x_ = input();
    begin_branch();
    if (column_) {
        if (!cast_by_norm()) quantise(list, gemm_.m / stream_.tensor, gemm_.k);
        if (pulls_parts(stream_.plan)) add_copy_to_buffer(list, stream_, gemm_.k);
        add_ring_product(list, product, gemm_.k);
    } else {
        quantise(list, gemm_.m, gemm_.k);
        pulls_parts(stream_.plan) ? add_pulled_sums(list, product, op_.out_features)
                                  : add_scattered_product(list, product, op_.out_features);
    }
    find_products();
    y_ = column_ ? products_.front().y : stream_.activation(stream_.residual_tokens * gemm_.n);
    hand_on();
    stream_.layer.flow.complete = false;
}

/// Of a gradient of a row-parallel layer's outputs parts come beside the parts of its input's.
void LinearSharder::gathered_backward(const Gemm& dgrad) {
    auto& list = piece_.backward;
    quantise(list, gemm_.m / stream_.tensor, gemm_.n);
    const bool casts_into_it = is_narrow(compute_) && !pulls_parts(stream_.plan);
    if (!casts_into_it) add_copy_to_buffer(list, stream_, gemm_.n);
    add_ring_product(list, {stream_, op_.name + " dgrad", dgrad}, gemm_.n);
    add_turned(list, stream_, gemm_.m, gemm_.n);
}

/// A column-parallel layer's collectives run whole beside its two products ("bulk").
void LinearSharder::bulk_backward(const Gemm& dgrad) {
    auto& list = piece_.backward;
    const std::uint64_t all = stream_.tokens * op_.in_features;
    add_copy_to_buffer(list, stream_, op_.in_features);
    using enum kernels::CollectiveKind;
    const auto move = [&](const char* what, LayerCollective moved, std::uint8_t raises, bool of_weights = false) {
        list.push_back({.name = op_.name + what, .what = moved, .raises = raises, .of_weights = of_weights});
    };
    const std::uint64_t gathered = all * gathered_bytes(stream_.plan.training.precision);
    if (gathers_again()) move(" gather input", {all_gather, gathered}, gathered_flag, true);
    list.push_back({.name = op_.name + " dgrad", .what = dgrad});
    sum_products(list, {stream_.element, gemm_.m, gemm_.k});
    move(" reduce", {reduce_scatter, all * stream_.bytes}, reduced_flag);
    add_turned(list, stream_, gemm_.m, gemm_.k, gathered_flag);
}

/// torch.compile finds a product whose result is scattered, and no sum of several (fuse_matmul_reduce_scatter: "Not
/// matmul").
void LinearSharder::pulled_backward(const Gemm& dgrad) {
    auto& list = piece_.backward;
    if (gathers_again()) gather(list, op_.name + " gather input", op_.in_features, x_, 0, true);
    if (piece_.results.products.size() == 1) {
        add_pulled_sums(list, {stream_, op_.name + " dgrad", dgrad}, op_.in_features);
    } else {
        list.push_back({.name = op_.name + " dgrad", .what = dgrad});
        sum_products(list, {stream_.element, gemm_.m, gemm_.k});
        stream_.convert(list, op_.name + " reduce", Placement::partial, stream_.residual, op_.in_features,
                        stream_.flow.gradient(stream_.format(), rows_ * gemm_.k));
    }
    add_turned(list, stream_, gemm_.m, gemm_.k);
}

void LinearSharder::overlapped_backward() {
    auto& list = piece_.backward;
    const ValueId dy = stream_.flow.gradient_of(y_);
    if (added_to_ != no_value) stream_.flow.set_gradient(stream_.partial_sum, dy);
    if (joins_gradient()) own_gradient_ = stream_.flow.gradient(stream_.format(), stream_.flow.value(x_).elements);
    const Gemm dgrad{compute_, 1, gemm_.m, gemm_.k, gemm_.n, GemmPass::data_gradient, spared()};
    add_transposed_weight(list, stream_.plan, gemm_.n, gemm_.k);
    if (row_) {
        gathered_backward(dgrad);
    } else {
        quantise(list, gemm_.m, gemm_.n);
        pulls_parts(stream_.plan) ? pulled_backward(dgrad) : bulk_backward(dgrad);
    }
    weight_gradients(dy, dy, x_);
    sum_input_gradients();
}

}  // namespace orrery::strategies
