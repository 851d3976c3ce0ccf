#include "strategies/partition/tensor.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/overloaded.hpp"
#include "strategies/partition/batch_first.hpp"
#include "strategies/partition/eager_rms_norm.hpp"
#include "strategies/partition/grid.hpp"
#include "strategies/partition/separate_products.hpp"
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

namespace {

using kernels::Dtype;
using kernels::Format;
using kernels::Gemm;
using kernels::PointwiseKind;

/// Of activations that a key widens, where there is something to widen.
Dtype in_fp32(const Plan& plan, bool wide) {
    const Dtype element = activation_dtype(plan);
    return wide && kernels::size_of(element) == 2 ? Dtype::fp32 : element;
}

/// The weights of one norm.
void add_gain(LayerStream& stream, const models::Norm& op, FlowBuilder::Weights& gamma, FlowBuilder::Weights& beta) {
    gamma = stream.parameter(
        {.name = op.name + ".weight", .parts = {op.width}, .initial = Initial::ones, .replicated = true}, op.width);
    if (op.kind == models::NormKind::layernorm)
        beta = stream.parameter(
            {.name = op.name + ".bias", .parts = {op.width}, .initial = Initial::zeros, .replicated = true}, op.width);
}

/// Mean, squared difference, mean, and the normalisation's product and sum, in fp32 (tf.nn.moments and
/// tf.nn.batch_normalization behind tf.contrib.layers.layer_norm), with casts around them; backward, the gradients of
/// each.
void separate_norm(const LayerStream& stream, Piece& piece, std::uint64_t rows, std::uint64_t width) {
    const auto in_fp32 = [&](PointwiseKind kind) { return kernels::Pointwise{kind, Dtype::fp32, rows, width}; };
    const auto repeat = [](std::vector<Work>& list, const std::string& name, const kernels::Pointwise& kernel, int n) {
        for (int i = 0; i < n; ++i) list.push_back({name, kernel});
    };
    piece.forward.clear();
    piece.backward.clear();
    // To fp32 and back; from a stream that is fp32 the product's operand alone.
    const int casts = stream.bytes > 2 ? 0 : stream.residual_element == Dtype::fp32 ? 1 : 2;
    const auto cast = stream.pointwise(PointwiseKind::cast, rows, width);
    repeat(piece.forward, piece.name + " cast", cast, casts);
    repeat(piece.forward, piece.name + " moment", in_fp32(PointwiseKind::sum_of_squares), 2);
    repeat(piece.forward, piece.name, in_fp32(PointwiseKind::scale), 3);
    repeat(piece.backward, piece.name + " backward cast", cast, casts);
    repeat(piece.backward, piece.name + " backward sum", in_fp32(PointwiseKind::sum_of_squares), 3);
    repeat(piece.backward, piece.name + " backward", in_fp32(PointwiseKind::scale), 4);
    repeat(piece.backward, piece.name + " backward", in_fp32(PointwiseKind::add), 4);
}

/// Columns of the weights that one launch of a norm takes, and what it does to what.
struct NormPart {
    std::uint64_t first, width;
    ValueId x, y, dx;
};

/// The norm of what queries, and what keys and values are made of in latent attention is one of each, of one weight.
std::vector<NormPart> norm_parts(LayerStream& stream, const models::Norm& op) {
    auto& flow = stream.flow;
    std::vector<NormPart> parts;
    const bool latent = stream.latent.turned != no_value && !stream.apart.empty();
    for (std::size_t i = 0; latent && i + 1 < stream.apart.size(); ++i) {
        const ValueId x = stream.apart[i];
        const std::uint64_t elements = flow.value(x).elements, first = parts.empty() ? 0 : parts.back().width;
        parts.push_back(
            {first, elements / stream.residual_tokens, x, stream.activation(elements), flow.gradient_of(x)});
        (i + 2 < stream.apart.size() ? stream.latent.of_queries : stream.latent.of_keys) = parts.back().y;
    }
    if (latent) return parts;
    // Of a parallel residual the second norm takes the branch's input as well.
    const bool second = stream.partial != no_value && stream.branch != no_value;
    const std::uint64_t elements = stream.residual_tokens * op.width;
    const ValueId x = second ? stream.branch : stream.value, y = stream.activation(elements);
    if (second) stream.second_gradient = flow.gradient(stream.format(), elements);
    return {{0, op.width, x, y, second ? stream.second_gradient : flow.gradient_of(x)}};
}

/// A norm forward and back, launched once for each part.
void add_norm(LayerStream& stream, const models::Norm& op, const std::vector<NormPart>& parts, Piece& piece) {
    const bool centred = op.kind == models::NormKind::layernorm;
    auto& flow = stream.flow;
    const std::uint64_t rows = stream.residual_tokens;
    const auto of_norm = [&](PointwiseKind kind, std::uint64_t width) {  // those of latent attention between products
        const bool in_stream = op.width == stream.plan.model.hidden;
        return in_stream ? stream.on_residual(kind, width) : stream.pointwise(kind, rows, width);
    };
    FlowBuilder::Weights gamma, beta;
    add_gain(stream, op, gamma, beta);
    const auto forward = centred ? PointwiseKind::layernorm : PointwiseKind::rmsnorm;
    const auto backward = centred ? PointwiseKind::layernorm_backward : PointwiseKind::rmsnorm_backward;
    Work there{.name = op.name, .what = of_norm(forward, op.width)};
    Work back{.name = op.name + " backward", .what = of_norm(backward, op.width)};
    for (const NormPart& part : parts) {
        const View x{part.x}, y{part.y}, dy{flow.gradient_of(part.y)}, dx{part.dx}, weight{gamma.weight, part.first},
            dweight{gamma.gradient, part.first};
        const View mean{centred ? flow.activation(Format::fp32, rows) : no_value},
            rstd{flow.activation(Format::fp32, rows)};
        Detail ahead{centred ? std::vector<View>{x, weight, {beta.weight, part.first}, y, mean, rstd}
                             : std::vector<View>{x, weight, y, rstd},
                     {}};
        Detail behind{centred ? std::vector<View>{x, weight, dy, mean, rstd, dx, dweight, {beta.gradient, part.first}}
                              : std::vector<View>{x, weight, dy, rstd, dx, dweight},
                      stream.into_gradients()};
        if (parts.size() > 1) {
            ahead.launch.kernel = of_norm(forward, part.width);
            behind.launch.kernel = of_norm(backward, part.width);
        }
        const bool first = &part == &parts.front();
        first ? void(there.detail = std::move(ahead)) : there.detail.also.push_back(std::move(ahead));
        first ? void(back.detail = std::move(behind)) : back.detail.also.push_back(std::move(behind));
    }
    piece.forward.push_back(std::move(there));
    piece.backward.push_back(std::move(back));
    const bool eager = !centred && !stream.plan.training.fused_rms_norm;
    if (eager) return write_eager_rms_norm(stream, piece, rows, op.width);
    if (stream.plan.training.kernel_fusion == KernelFusion::primitives) separate_norm(stream, piece, rows, op.width);
}

void shard_norm(LayerStream& stream, const models::Norm& op) {
    Piece piece{.name = op.name};
    const std::vector<NormPart> parts = norm_parts(stream, op);
    add_norm(stream, op, parts, piece);
    stream.norm = stream.layer.pieces.size();
    stream.normed = stream.value = parts.front().y;
    // The gradients of the two branches meet where the branch began: the residual's is known where it ends.
    const Work sum{.name = "sum branch gradients", .what = stream.on_residual(PointwiseKind::add, op.width)};
    if (op.begins_branch) {
        stream.branch = parts.front().x;
        stream.branch_begin = stream.norm;
        piece.backward.push_back(sum);
    }
    if (stream.second_gradient != no_value) {
        stream.second_norm = stream.norm;
        piece.backward.push_back(sum);
    }
    const bool centred = op.kind == models::NormKind::layernorm;
    piece.input_bytes = stream.residual_bytes(op.width);
    piece.saved_bytes += piece.input_bytes;
    piece.working_bytes = 2 * stream.residual_bytes(op.width);
    piece.counts.trained = piece.counts.replicated = op.width * (centred ? 2 : 1);
    stream.layer.pieces.push_back(std::move(piece));
}

}  // namespace

LayerStream::LayerStream(const Plan& of_plan, ShardedLayer& of_layer, models::Sequence of_sequence,
                         models::Sequence of_second)
    : plan(of_plan),
      layer(of_layer),
      flow(of_layer.flow),
      sequence(of_sequence),
      second_sequence(of_second),
      grid(of_plan.tensor_grid()),
      tensor(grid.divides() ? grid.width_parts() : of_plan.strategy.tensor),
      residual(of_plan.strategy.sequence_parallel && tensor > 1 ? Placement::sharded_sequence : Placement::replicated),
      element(activation_dtype(of_plan)),
      bytes(kernels::size_of(element)),
      residual_element(residual_dtype(of_plan)),
      function_element(in_fp32(of_plan, of_plan.training.fp32_activation_function)) {
    take(of_sequence);
}

void LayerStream::take(models::Sequence of) {
    sequence = of;
    tokens = plan.rank_tokens(of) / grid.token_parts();
    residual_tokens = residual == Placement::sharded_sequence ? tokens / tensor : tokens;
}

Launch LayerStream::into_gradients() const {
    Launch launch;
    launch.settings.accumulate = true;
    launch.settings.result = sum_dtype();
    return launch;
}

Launch LayerStream::next_dropout(DropoutSite::Of of) {
    Launch launch;
    launch.dropout = {of, dropouts++};
    return launch;
}

ValueId LayerStream::convert(std::vector<Work>& list, const std::string& name, Placement from, Placement into,
                             std::uint64_t width, ValueId moved, ValueId to, std::uint8_t raises, bool of_weights) {
    const auto kind = tensor == 1 ? std::nullopt : conversion(from, into);
    if (!kind) return moved;
    const std::uint64_t all = tokens * width;
    if (to == no_value) {
        const bool in_place = *kind == kernels::CollectiveKind::all_reduce;
        const Role role = flow.value(moved).role;
        const std::uint64_t elements = into == Placement::sharded_sequence ? all / tensor : all;
        to = in_place ? moved : role == Role::gradient ? flow.gradient(format(), elements) : activation(elements);
    }
    if (*kind == kernels::CollectiveKind::reduce_scatter) order_scattered(*this, list, width);
    list.push_back({.name = name,
                    .what = LayerCollective{*kind, all * bytes},
                    .raises = raises,
                    .of_weights = of_weights,
                    .detail = {{{moved}, {to}}}});
    if (*kind == kernels::CollectiveKind::all_gather) order_gathered(*this, list, width);
    return to;
}

Gemm transposed(const Gemm& weight_gradient) {
    Gemm gemm = weight_gradient;
    std::swap(gemm.m, gemm.n);
    return gemm;
}

Work weight_gradient(const LayerStream& stream, std::string name, const Gemm& priced, const WeightGradient& of) {
    Work work{.name = std::move(name), .what = priced, .of_weights = true};
    if (of.separate == no_value) work.detail.launch = stream.into_gradients();
    work.detail.launch.settings.result = stream.sum_dtype();
    work.detail.launch.kernel = transposed(priced);
    work.detail.operands = {{of.dy}, {of.x}, {of.separate == no_value ? of.sum : of.separate}};
    return work;
}

Dtype activation_dtype(const Plan& plan) {
    const Dtype compute = plan.training.precision.compute;
    return is_narrow(compute) ? Dtype::bf16 : compute;
}

Dtype residual_dtype(const Plan& plan) { return in_fp32(plan, plan.training.widens_stream()); }

namespace {
std::uint64_t sum_of(const std::vector<Piece>& pieces, std::uint64_t Piece::*member) {
    std::uint64_t sum = 0;
    for (const Piece& piece : pieces) sum += piece.*member;
    return sum;
}
}  // namespace

std::uint64_t ShardedLayer::saved_bytes() const { return sum_of(pieces, &Piece::saved_bytes); }
std::uint64_t ShardedLayer::weight_saved_bytes() const { return sum_of(pieces, &Piece::weight_saved_bytes); }
std::uint64_t ShardedLayer::output_gradient_bytes() const { return sum_of(pieces, &Piece::output_gradient_bytes); }
ParameterCounts ShardedLayer::counts() const {
    ParameterCounts sum;
    for (const Piece& piece : pieces) sum += piece.counts;
    return sum;
}

bool ShardedLayer::borrows_words() const { return std::ranges::any_of(pieces, &Piece::borrows_words); }

std::size_t ShardedLayer::host_waits_before() const {
    return static_cast<std::size_t>(std::ranges::find_if(pieces, &Piece::host_waits) - pieces.begin());
}

namespace {

template <class Visit>
void each_detail(ShardedLayer& layer, const Visit& visit) {
    for (Piece& piece : layer.pieces)
        for (auto* list : {&piece.forward, &piece.backward})
            for (Work& work : *list) visit(work.detail);
}

/// Behind the last operator: tensors that turned out to be one get one id.
void finish(LayerStream& stream) {
    LayerFlow& flow = stream.layer.flow;
    flow.output = stream.value;
    if (stream.value != no_value) flow.output_gradient = stream.flow.gradient_of(stream.value);
    if (stream.grid.divides()) {  // which is priced, and not executed
        flow.complete = false;
        return each_detail(stream.layer, [](Detail& detail) { detail = {}; });
    }
    const Training& training = stream.plan.training;  // what activations are cast to is no tensor of the flow
    if (stream.bytes == 2 && (training.widens_stream() || training.fp32_activation_function)) flow.complete = false;
    const auto resolve = [&](Detail& detail) {
        for (View& view : detail.operands) view.value = stream.flow.resolved(view.value);
    };
    each_detail(stream.layer, [&](Detail& detail) {
        if (detail.operands.empty()) flow.complete = false;
        resolve(detail);
        for (Detail& more : detail.also) resolve(more);
    });
    for (ValueId* gradient : {&flow.input_gradient, &flow.output_gradient, &flow.second_gradient})
        *gradient = stream.flow.resolved(*gradient);
}

void shard(LayerStream& stream, const models::Operator& op) {
    if (shard_in_grid(stream, op)) return;
    std::visit(Overloaded{
                   [&](const models::Linear& linear) {
                       const bool split = linear.out == models::Dim::classes && divides_classes(stream.plan);
                       split ? shard_split_classifier(stream, linear) : shard_linear(stream, linear);
                   },
                   [&](const models::Embedding& embedding) { shard_embedding(stream, embedding); },
                   [&](const models::RelativePositions& table) { shard_relative_positions(stream, table); },
                   [&](const models::Norm& norm) { shard_norm(stream, norm); },
                   [&](const models::Rope& rope) { shard_rope(stream, rope); },
                   [&](const models::AttentionCore& core) { shard_attention(stream, core); },
                   [&](const models::Activation& activation) { shard_activation(stream, activation); },
                   [&](const models::Experts& experts) { shard_experts(stream, experts); },
                   [&](const models::StateMixer& mixer) { shard_state_mixer(stream, mixer); },
                   [&](const models::ResidualAdd& add) { shard_residual(stream, add); },
                   [&](const models::Loss& loss) { shard_loss(stream, loss); },
                   [&](const models::Convolution& convolution) { shard_convolution(stream, convolution); },
                   [&](const models::BatchNorm& norm) { shard_batch_norm(stream, norm); },
                   [&](const models::Relu& relu) { shard_relu(stream, relu); },
                   [&](const models::Pooling& pooling) { shard_pooling(stream, pooling); },
                   [&](const models::Join& join) { shard_join(stream, join); },
                   [&](const models::Dropout& dropout) { shard_dropout(stream, dropout); },
                   [&](const models::RecurrentAttention& core) { shard_recurrent_attention(stream, core); },
                   [&](const models::AdaptiveEmbedding& words) { shard_adaptive_embedding(stream, words); },
                   [&](const models::AdaptiveLoss& loss) { shard_adaptive_loss(stream, loss); },
                   [&](const models::Concatenation& two) { shard_concatenation(stream, two); },
                   [&](const models::PatchEmbedding& patches) { shard_patch_embedding(stream, patches); },
                   [&](const models::PickToken& token) { shard_picked_token(stream, token); },
                   [&](const models::ContrastiveLoss& loss) { shard_contrast(stream, loss); },
               },
               op);
}

/// Of a micro-batch, those that this rank holds of what flows between layers.
std::uint64_t elements_of(const models::Shape& shape, const LayerStream& stream) {
    return std::visit(
        Overloaded{[&](const models::Tokens& tokens) {
                       return stream.residual_tokens * stream.residual_columns(tokens.width);
                   },
                   [&](const models::Image& image) { return stream.plan.training.micro_batch * image.elements(); }},
        shape);
}

models::Sequence sequence_of(const models::Shape& shape) {
    const auto* tokens = std::get_if<models::Tokens>(&shape);
    return tokens == nullptr ? models::Sequence::only : tokens->sequence;
}

}  // namespace

namespace {

/// Of tokens of its own.
void take_second_input(LayerStream& stream, const models::Shape& shape) {
    LayerFlow& flow = stream.layer.flow;
    const models::Sequence own = stream.sequence;
    stream.take(stream.second_sequence);
    flow.second_input = stream.activation(elements_of(shape, stream));
    flow.second_gradient = stream.flow.gradient_of(flow.second_input);
    stream.take(own);
}

ShardedLayer shard_as_planned(const models::Layer& layer, const Plan& plan) {
    ShardedLayer out{.name = layer.name};
    const models::Shape& first = layer.inputs.empty() ? layer.output : layer.inputs.front();
    LayerStream stream(plan, out, sequence_of(first), sequence_of(layer.inputs.size() < 2 ? first : layer.inputs[1]));
    stream.in_body = layer.part == models::Part::body;
    if (!layer.inputs.empty()) {
        out.flow.input = stream.value = stream.activation(elements_of(layer.inputs.front(), stream));
        out.flow.input_gradient = stream.flow.gradient_of(out.flow.input);
    }
    if (layer.inputs.size() > 1) take_second_input(stream, layer.inputs[1]);
    for (std::size_t i = 0; i < layer.operators.size(); ++i) {
        stream.next = i + 1 < layer.operators.size() ? &layer.operators[i + 1] : nullptr;
        const std::size_t from = out.pieces.size();
        shard(stream, layer.operators[i]);
        name_modules(layer, layer.operators[i], from, stream);
    }
    finish(stream);
    if (layer.frozen)
        freeze_all(out);
    else if (plan.training.lora_rank > 0)
        train_adapters_alone(out, plan);
    if (plan.training.base_weights == BaseWeights::nf4 && layer.part == models::Part::body) quantize_base(out);
    separate_products(out);
    for (const models::Shape& input : layer.inputs) {
        const bool decodes = sequence_of(input) != sequence_of(first);
        stream.take(sequence_of(input));
        // All layers of a decoder take one and the same tensor of the encoder: each counts its share.
        const bool words = std::holds_alternative<models::Tokens>(input);
        const std::uint64_t element = words ? kernels::size_of(stream.residual_element) : stream.bytes;
        out.input_bytes += elements_of(input, stream) * element / (decodes ? plan.model.decoder_layers : 1);
    }
    return out;
}

}  // namespace

/// Logits are formed in 16 bits beside narrower products: they are no layer of Transformer Engine's (Megatron-LM,
/// gpt_model.py, output_layer; TorchTitan leaves "output" out as well), but where fp8_output_proj makes them one.
ShardedLayer shard(const models::Layer& layer, const Plan& plan) {
    const bool wide = layer.in_16_bits || (layer.part == models::Part::output && !plan.training.fp8_output);
    if (!wide || !is_narrow(plan.training.precision.compute)) return shard_as_planned(layer, plan);
    Plan in_16_bits = plan;
    in_16_bits.training.precision.compute = Dtype::bf16;
    return shard_as_planned(layer, in_16_bits);
}

}  // namespace orrery::strategies
