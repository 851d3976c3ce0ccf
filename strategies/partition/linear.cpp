// A linear layer: column-parallel (its outputs are split), row-parallel (its inputs are), or whole.
#include <span>

#include "strategies/partition/linear_sharder.hpp"
#include "strategies/partition/overlapped.hpp"
#include "strategies/stage_split.hpp"

namespace orrery::strategies {

using kernels::Dtype;
using kernels::Gemm;
using kernels::GemmPass;
using kernels::Pointwise;
using kernels::PointwiseKind;
using models::Dim;

namespace {

/// What stands behind `from` so many times, of which the last alone runs beside what follows.
void repeat(std::vector<Work>& list, std::size_t from, std::size_t times) {
    if (times < 2) return;
    std::vector<Work> waited(list.begin() + static_cast<std::ptrdiff_t>(from), list.end());
    for (Work& work : waited) {
        work.detail = {};
        work.raises = 0;
    }
    for (std::size_t i = 1; i < times; ++i)
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(from), waited.begin(), waited.end());
}

}  // namespace

LinearSharder::LinearSharder(LayerStream& stream, const models::Linear& op)
    : stream_(stream),
      op_(op),
      column_(split_by_tensor(op.out)),
      row_(split_by_tensor(op.in)),
      compute_(stream.plan.training.precision.compute),
      rows_(column_ || row_ ? stream.tokens : stream.residual_tokens),
      overlapped_(overlaps_collectives(stream, op)),
      piece_{.name = op.name, .results = {.products = separate_outputs(op, stream)}} {
    std::uint64_t out = op.out_features / (column_ ? stream.tensor : 1);
    if (op.out == Dim::vocab) out = stream.plan.padded_vocab() / stream.tensor;
    gemm_ = {compute_, 1, static_cast<std::uint32_t>(rows_), static_cast<std::uint32_t>(out),
             static_cast<std::uint32_t>(op.in_features / (row_ ? stream.tensor : 1))};
}

/// What a product reads, of all tokens, where ranks hold parts of the sequence.
ValueId LinearSharder::gather(std::vector<Work>& list, const std::string& name, std::uint64_t width, ValueId moved,
                              std::uint8_t raises, bool of_weights) const {
    const std::size_t from = list.size();
    const ValueId all = stream_.convert(list, name, stream_.residual, Placement::replicated, width, moved, no_value,
                                        raises, of_weights);
    if (!gathers_narrow()) return all;
    list[from].detail = {};
    std::get<LayerCollective>(list[from].what).bytes = narrow_bytes(compute_, stream_.tokens * width);
    if (list.size() > from + 1)  // the copy behind it
        std::get<Pointwise>(std::get<kernels::Kernel>(list.back().what)).dtype = compute_;
    return all;
}

void LinearSharder::parameters() {
    const std::uint64_t in = gemm_.k, out = gemm_.n;
    const bool words = op_.shares_embedding && ends_meet(stream_.plan), elsewhere = words || op_.again;
    weight_ = stream_.parameter(weight_of(op_, stream_.plan, !elsewhere), in * out);
    if (op_.bias) bias_ = stream_.parameter(bias_of(op_, stream_.plan), out);
    if (reads_casts()) narrow_.weight = cast_weight(stream_.flow, weight_);
    piece_.borrows_words = words;
    piece_.counts.trained = (elsewhere ? 0 : in * out) + (op_.bias && !op_.again ? out : 0);
    if (!column_) piece_.counts.replicated = row_ ? (op_.bias ? out : 0) : piece_.counts.trained;
}

ValueId LinearSharder::input() const {
    if (op_.shares_input || (is_latent(op_) && spec().q_lora_rank == 0)) return stream_.normed;
    if (makes_keys(op_)) return stream_.latent.of_keys;
    return op_.in == Dim::latent ? stream_.latent.of_queries : stream_.value;
}

void LinearSharder::find_products() {
    if (!apart()) {
        added_to_ = op_.in == Dim::ffn ? std::exchange(stream_.partial, no_value) : no_value;
        products_ = {{0, gemm_.n, added_to_ != no_value ? added_to_ : stream_.activation(rows_ * gemm_.n)}};
        return;
    }
    std::uint64_t first = 0;
    for (const std::uint64_t part : output_parts(op_, stream_.plan)) {
        const auto outputs = static_cast<std::uint32_t>(part / (column_ ? stream_.tensor : 1));
        products_.push_back({first, outputs, stream_.activation(rows_ * outputs)});
        first += outputs;
    }
}

void LinearSharder::add(std::vector<Work>& list, Work priced, const auto& detail_of) {
    for (const Launched& product : products_) {
        Detail detail = detail_of(product);
        if (&product == &products_.front())
            priced.detail = std::move(detail);
        else
            priced.detail.also.push_back(std::move(detail));
    }
    list.push_back(std::move(priced));
}

/// Without a norm before it.
void LinearSharder::begin_branch() {
    begins_branch_ = stream_.in_body && stream_.branch == no_value && op_.in == Dim::hidden && !op_.second_input;
    if (!begins_branch_) return;
    stream_.branch = x_;
    stream_.branch_begin = stream_.layer.pieces.size();
}

Detail LinearSharder::forward_detail(const Launched& product, ValueId read) const {
    Launch launch;
    launch.settings.accumulate = added_to_ != no_value;
    if (op_.bias && !bias_later_) launch.bias = {bias_.weight, product.first};
    launch.first_bias = row_;  // behind a sum over ranks on one of them only
    if (reads_casts())
        return detail_of({narrow_.x.as_is(), narrow_.weight.as_is(), {product.y}, gemm_.m, gemm_.n, gemm_.k}, launch);
    if (apart()) launch.kernel = Gemm{compute_, 1, gemm_.m, product.outputs, gemm_.k};
    return {{{read}, {weight_.weight, product.first * gemm_.k}, {product.y}}, launch};
}

void LinearSharder::forward() {
    auto& list = piece_.forward;
    x_ = input();
    begin_branch();
    ValueId read = x_;
    const bool local = column_ && gathers_narrow();
    cast_by_norm_ = cast_by_norm();
    cast_operands(stream_, cast_layer(), piece_);
    if (local && !cast_by_norm_) quantise_input(list, stream_.residual_tokens, read);
    const std::size_t from = list.size();
    if (column_) read = gather(list, op_.name + " gather", op_.in_features, x_);
    repeat(list, from, gathers());
    whole_ = read;
    if (!local && !cast_by_norm_) quantise_input(list, gemm_.m, read);
    find_products();
    y_ = products_.front().y;
    bias_later_ = op_.bias && next_adds_bias(stream_);
    add(list, {.name = op_.name, .what = gemm_},
        [&](const Launched& product) { return forward_detail(product, read); });
    if (reduces())
        y_ = stream_.convert(list, op_.name + " reduce", Placement::partial, stream_.residual, op_.out_features, y_);
    hand_on();
}

void LinearSharder::hand_on() {
    stream_.value = y_;
    stream_.width_split = column_;
    stream_.late_bias = bias_later_ ? View{bias_.weight} : View{};
    stream_.apart.clear();
    if (apart())
        for (const Launched& product : products_) stream_.apart.push_back(product.y);
    if (summed_with_mlp()) {
        stream_.partial = y_;
        stream_.partial_sum = stream_.activation(stream_.residual_tokens * op_.out_features);
    }
    LayerStream::Latent& latent = stream_.latent;
    if (is_latent(op_)) latent.turned = products_.back().y;
    if (makes_keys(op_)) {
        latent.plain = products_.front().y;
        latent.values = products_.back().y;
    } else if (op_.out == Dim::qkv && spec().kv_lora_rank > 0) {
        latent.queries = y_;
    }
}

/// Of the second product on, what it forms is added to what the first has.
Detail LinearSharder::input_gradient_detail(const Launched& product, ValueId dy, ValueId dx) {
    if (reads_casts())
        return detail_of({narrow_.dy.as_is(), narrow_.weight.turned(), {dx}, gemm_.m, gemm_.k, gemm_.n, true});
    const ValueId from = apart() ? stream_.flow.gradient_of(product.y) : dy;
    Detail detail{{{from}, {weight_.weight, product.first * gemm_.k}, {dx}}, {}};
    detail.launch.settings.accumulate = product.first > 0;
    if (apart()) detail.launch.kernel = Gemm{compute_, 1, gemm_.m, gemm_.k, product.outputs, GemmPass::data_gradient};
    return detail;
}

void LinearSharder::input_gradient(bool asynchronous, ValueId dy) {
    auto& flow = stream_.flow;
    const bool scattered = column_ && stream_.tensor > 1 && stream_.residual == Placement::sharded_sequence;
    if (joins_gradient()) own_gradient_ = flow.gradient(stream_.format(), flow.value(x_).elements);
    const ValueId dx_here = own_gradient_ != no_value ? own_gradient_ : flow.gradient_of(x_);
    const ValueId dx = scattered ? flow.gradient(stream_.format(), rows_ * gemm_.k) : dx_here;
    add_transposed_weight(piece_.backward, stream_.plan, gemm_.n, gemm_.k);
    add(piece_.backward,
        {.name = op_.name + " dgrad", .what = Gemm{compute_, 1, gemm_.m, gemm_.k, gemm_.n, GemmPass::data_gradient}},
        [&](const Launched& product) { return input_gradient_detail(product, dy, dx); });
    reduce_input_gradients(asynchronous, dx, dx_here);
}

/// Summed over its products, and over ranks where they share those: in this order, or the other.
void LinearSharder::reduce_input_gradients(bool asynchronous, ValueId dx, ValueId dx_here) {
    auto& list = piece_.backward;
    const std::uint8_t flag = asynchronous ? reduced_flag : 0;
    const bool sums = !casts_activations(stream_);  // else of fp32, behind the casts
    if (sums && exchanges() == 1) sum_products(list, {stream_.element, gemm_.m, gemm_.k});
    const std::size_t from = list.size();
    if (column_)
        stream_.convert(list, op_.name + " reduce", Placement::partial, stream_.residual, op_.in_features, dx, dx_here,
                        flag);
    repeat(list, from, exchanges());
    if (sums && exchanges() > 1) sum_products(list, {stream_.element, stream_.residual_tokens, gemm_.k}, flag);
}

/// dy_rows: the gradient as the residual stream holds it.
void LinearSharder::weight_gradients(ValueId dy, ValueId dy_rows, ValueId x) {
    if (casts_again()) cast_input_again(x);
    auto& list = piece_.backward;
    auto& flow = stream_.flow;
    const auto gradient_of = [&](const Launched& product, ValueId whole) {
        return apart() ? flow.gradient_of(product.y) : whole;
    };
    const bool in_parts = op_.out == Dim::vocab && stream_.plan.training.loss_chunks > 1;
    const bool fused = !adds_apart(stream_.plan, op_.again || op_.shares_embedding || in_parts);
    const ValueId separate = fused ? no_value : flow.gradient(stream_.sums(), std::uint64_t{gemm_.n} * gemm_.k);
    Work wgrad = weight_gradient(stream_, op_.name + " wgrad",
                                 {compute_, 1, gemm_.k, gemm_.n, gemm_.m, GemmPass::weight_gradient, spared()},
                                 {dy, x, weight_.gradient, separate});
    wgrad.needs = gathered_flag;
    const Launch launch = wgrad.detail.launch;
    add(list, std::move(wgrad), [&](const Launched& product) {
        const View sum{fused ? weight_.gradient : separate, product.first * gemm_.k};
        if (reads_casts())
            return detail_of({narrow_.dy.turned(), narrow_.x.turned(), sum, gemm_.n, gemm_.k, gemm_.m, true}, launch);
        Detail detail{{{gradient_of(product, dy)}, {x}, sum}, launch};
        if (apart())
            detail.launch.kernel = Gemm{compute_, 1, product.outputs, gemm_.k, gemm_.m, GemmPass::weight_gradient};
        return detail;
    });
    if (op_.bias) {  // behind a reduction the bias sees this rank's tokens alone
        const std::uint64_t seen = column_ ? gemm_.m : stream_.residual_tokens;
        add(list,
            {.name = op_.name + " bias gradient",
             .what = stream_.pointwise(PointwiseKind::bias_gradient, seen, gemm_.n),
             .of_weights = true},
            [&](const Launched& product) {
                Detail detail{{{gradient_of(product, column_ ? dy : dy_rows)}, {bias_.gradient, product.first}},
                              stream_.into_gradients()};
                if (apart())
                    detail.launch.kernel = stream_.pointwise(PointwiseKind::bias_gradient, seen, product.outputs);
                return detail;
            });
    }
    cast_weight_gradients(stream_, cast_layer(), piece_);
    if (!fused)
        list.push_back(
            {.name = op_.name + " accumulate",
             .what = Pointwise{PointwiseKind::add, stream_.plan.training.precision.grad_reduce, gemm_.k, gemm_.n},
             .of_weights = true,
             .detail = {{{weight_.gradient}, {separate}, {weight_.gradient}}}});
}

/// What else is summed where the input's gradient is known.
void LinearSharder::sum_input_gradients() {
    auto& list = piece_.backward;
    const auto sum = [&](const char* name, std::vector<View> operands) {
        list.push_back({.name = name,
                        .what = stream_.on_residual(PointwiseKind::add, op_.in_features),
                        .needs = reduced_flag,
                        .detail = {std::move(operands)}});
    };
    const View dx{stream_.flow.gradient_of(x_)};
    cast_input_gradient(stream_, cast_layer(), piece_, reduced_flag);
    if (casts_activations(stream_))
        sum_products(list, {stream_.residual_element, cast_layer().rows, gemm_.k}, reduced_flag);
    if (op_.second_input) {  // of every decoder layer
        LayerFlow& flow = stream_.layer.flow;
        flow.second_gradient_before = stream_.flow.gradient(stream_.format(), stream_.flow.value(x_).elements);
        sum("sum encoder gradients", {{flow.second_gradient_before}, dx, dx});
    }
    if (joins_gradient()) sum("sum input gradients", {dx, {own_gradient_}, dx});
    if (begins_branch_) sum("sum branch gradients", {});  // known where the branch ends
}

void LinearSharder::backward() {
    const bool asynchronous = column_ && stream_.plan.strategy.async_tensor_allreduce;
    auto& list = piece_.backward;
    auto& flow = stream_.flow;
    const ValueId dy_rows = flow.gradient_of(summed_with_mlp() ? stream_.partial_sum : y_);
    ValueId dy = summed_with_mlp() ? flow.gradient_of(y_) : dy_rows, x = whole_;
    const bool local = reduces() && gathers_narrow();
    if (local) quantise(list, stream_.residual_tokens, gemm_.n);
    if (reduces()) dy = gather(list, op_.name + " gather gradient", op_.out_features, dy_rows);
    if (added_to_ != no_value) {  // of both terms
        flow.set_gradient(added_to_, dy);
        flow.set_gradient(stream_.partial_sum, dy_rows);
    }
    if (reads_casts())
        narrow_.dy = add_cast_operand(stream_, list, dy, gemm_.m, gemm_.n);
    else if (!local)
        quantise(list, gemm_.m, gemm_.n);
    const std::size_t from = list.size();
    if (column_ && gathers_again())  // of the input a part was kept: gather it again for the weight gradient
        x = gather(list, op_.name + " gather input", op_.in_features, x_,
                   asynchronous ? gathered_flag : std::uint8_t{0}, true);
    repeat(list, from, gathers());
    input_gradient(asynchronous, dy);
    // What was cast in one orientation, by a norm or before it was gathered, has to be turned.
    if (cast_by_norm_ || (column_ && gathers_narrow()))
        add_turned(list, stream_, gemm_.m, gemm_.k, gathered_flag);
    else if (local)
        add_turned(list, stream_, gemm_.m, gemm_.n);
    weight_gradients(dy, dy_rows, x);
    sum_input_gradients();
}

/// Behind its gathering, where it has one.
void LinearSharder::cast_input_again(ValueId x) {
    const std::size_t from = piece_.backward.size();
    if (reads_casts())
        narrow_.x = add_cast_operand(stream_, piece_.backward, x, gemm_.m, gemm_.k);
    else
        quantise(piece_.backward, gemm_.m, gemm_.k);
    for (Work& work : std::span(piece_.backward).subspan(from)) {
        work.needs = gathered_flag;
        work.of_weights = true;
    }
}

std::uint64_t LinearSharder::input_bytes() const {
    const std::uint64_t elements = (column_ && gathers_again() ? stream_.residual_tokens : rows_) * gemm_.k;
    if (casts_again()) return elements * stream_.bytes;
    return kept_input_bytes(stream_.plan, elements, op_.in == Dim::attention);
}

void LinearSharder::account() {
    const std::uint64_t in = gemm_.k, out = gemm_.n;
    const bool gathered = stream_.residual == Placement::sharded_sequence && !gathers_again();
    if (!op_.shares_input)
        piece_.saved_bytes = piece_.weight_saved_bytes =
            std::max(kept_inputs(stream_, cast_layer()), gathered ? gathers() : 1) * input_bytes();
    // The encoder's output is kept once for all decoder layers: each counts its share. Its casts are each layer's own.
    if (op_.second_input && !casts_activations(stream_))
        piece_.saved_bytes = piece_.weight_saved_bytes = piece_.saved_bytes / stream_.plan.model.decoder_layers;
    piece_.input_bytes = piece_.weight_saved_bytes;
    if (stream_.plan.training.autocast) piece_.saved_bytes += (in * out + (op_.bias ? out : 0)) * stream_.bytes;
    piece_.output_gradient_bytes = rows_ * out * stream_.bytes;
    piece_.results.plain_products = !op_.bias;
    if (reduces() && stream_.residual == Placement::sharded_sequence)
        piece_.results.scattered_bytes = stream_.residual_tokens * op_.out_features * stream_.bytes;
    piece_.results.sum_alone = is_compiled(stream_.plan.training);
    piece_.working_bytes = rows_ * ((keeps_logits(stream_, op_) ? 0 : out) + in) * stream_.bytes;
}

void LinearSharder::shard() && {
    parameters();
    overlapped_ ? overlapped_forward() : forward();
    overlapped_ ? overlapped_backward() : backward();
    account();
    stream_.layer.pieces.push_back(std::move(piece_));
}

void shard_linear(LayerStream& stream, const models::Linear& op) {
    if (!op.second_input) return LinearSharder(stream, op).shard();
    const models::Sequence own = stream.sequence;
    const ValueId left = stream.value;
    stream.take(stream.second_sequence);
    stream.value = stream.layer.flow.second_input;
    LinearSharder(stream, op).shard();
    stream.take(own);
    stream.value = left;
    stream.apart.insert(stream.apart.begin(), left);
}

}  // namespace orrery::strategies
