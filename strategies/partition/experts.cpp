#include "strategies/partition/experts.hpp"

#include <utility>

#include "hardware/eager.hpp"
#include "strategies/partition/expert_bias.hpp"
#include "strategies/partition/expert_clamp.hpp"
#include "strategies/partition/expert_dispatch.hpp"
#include "strategies/partition/expert_padding.hpp"
#include "strategies/partition/router_operators.hpp"
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::Dtype;
using kernels::Format;
using kernels::Gemm;
using kernels::GemmPass;
using kernels::Pointwise;
using kernels::PointwiseKind;

/// Weight and bias of one product of all of a rank's experts.
struct ExpertWeights {
    FlowBuilder::Weights weight, bias;
};

/// Globally [experts x outputs, inputs]. Behind a sum over tensor ranks each of them sees all tokens: the gradients of
/// the bias are alike, and none is summed.
ExpertWeights expert_weights(LayerStream& stream, const models::Experts& op, const ExpertShapes& shapes, bool up) {
    using Split = Parameter::Split;
    const std::string name = up ? "experts.up" : "experts.down";
    const std::uint64_t outputs = up ? shapes.inner : op.width(), inputs = up ? op.width() : shapes.ffn;
    Parameter weight{
        .name = name + ".weight",
        .parts = up ? std::vector<std::uint64_t>(op.gated ? 2 : 1, op.ffn) : std::vector<std::uint64_t>{op.width()},
        .cols = up ? op.width() : op.ffn,
        .split = !shapes.gathers ? Split::none
                 : up            ? Split::rows
                                 : Split::cols,
        .experts = static_cast<std::uint32_t>(op.experts)};
    Parameter bias{.name = name + ".bias",
                   .parts = weight.parts,
                   .split = up ? weight.split : Split::none,
                   .initial = Initial::zeros,
                   .experts = weight.experts,
                   .alike = !up && shapes.gathers};
    ExpertWeights held;
    held.weight = stream.parameter(std::move(weight), shapes.experts * outputs * inputs);
    if (op.bias) held.bias = stream.parameter(std::move(bias), shapes.experts * outputs);
    return held;
}

/// Tokens travel to their experts and results back; in backward gradients travel the other way.
class ExpertSharder {
public:
    ExpertSharder(LayerStream& stream, const models::Experts& op)
        : stream_(stream), op_(op), plan_(stream.plan), shapes_(expert_shapes(op, stream.plan)) {}

    void shard() &&;

private:
    using List = std::vector<Work>;

    static void add(List& list, std::string name, kernels::Kernel kernel, std::vector<View> operands,
                    Launch launch = {}, bool routed = false) {
        list.push_back({.name = std::move(name),
                        .what = std::move(kernel),
                        .routed = routed,
                        .detail = {std::move(operands), std::move(launch)}});
    }
    [[nodiscard]] ValueId rows_of_hidden(std::uint64_t rows, Role role) {
        const std::uint64_t elements = rows * op_.width();
        return role == Role::gradient ? stream_.flow.gradient(stream_.format(), elements)
                                      : stream_.activation(elements);
    }
    [[nodiscard]] ValueId by_expert(Role role) {
        const std::uint64_t elements = shapes_.tokens * op_.experts;
        return role == Role::gradient ? stream_.flow.gradient(Format::fp32, elements)
                                      : stream_.flow.activation(Format::fp32, elements);
    }
    [[nodiscard]] View table(Table which) {
        const bool of_rows = which == Table::arrived_row || which == Table::sorted_row;
        return {stream_.flow.table(which, which == Table::ones ? Format::fp32 : Format::int32,
                                   of_rows ? shapes_.rows : shapes_.sent)};
    }
    /// What copies of tokens cost. The kinds permute and unpermute read or write a token once for two copies: a single
    /// copy is moved like a plain stream. Not fused: PyTorch's index_select and scatter_add, as an embedding's.
    [[nodiscard]] Pointwise copies(PointwiseKind kind) const {
        using enum PointwiseKind;
        if (!plan_.training.permute_fusion) kind = kind == permute ? embedding : embedding_backward;
        if (plan_.training.permute_fusion && op_.top_k == 1) kind = scale;
        return stream_.pointwise(kind, shapes_.sent, op_.width());
    }
    [[nodiscard]] Launch moved(PointwiseKind kind) const {
        Launch launch = of_copies();
        launch.kernel = stream_.pointwise(kind, shapes_.sent, op_.width());
        return launch;
    }
    [[nodiscard]] Launch of_copies() const {
        Launch launch;
        launch.settings.top_k = op_.top_k;
        return launch;
    }
    /// The gate whose choice of experts is given.
    [[nodiscard]] Launch given_experts() {
        Launch launch = of_copies();
        launch.experts = table(Table::copy_expert);
        return launch;
    }

    ValueId sort(List& list, const std::string& name, Table from, ValueId rows);
    ValueId exchange(List& list, const std::string& name, ValueId rows);
    ValueId over_tensor(List& list, const std::string& name, CollectiveKind kind, ValueId rows);
    ValueId to_experts(List& list, const std::string& what, ValueId rows);
    ValueId from_experts(List& list, const std::string& what, ValueId rows);

    void router();
    void router_backward(Piece& piece, const FlowBuilder::Weights& weight);
    void dispatch();
    void product(const std::string& name, bool up);
    void activation();
    void combine();
    void gate_shared();
    void meet_shared();
    void project(const char* name, std::uint64_t in, std::uint64_t out);

    LayerStream& stream_;
    const models::Experts& op_;
    const Plan& plan_;
    ExpertShapes shapes_;
    ValueId shared_ = no_value;                         ///< the result of the MLP that every token takes
    ValueId tokens_ = no_value;                         ///< the router's input
    ValueId probabilities_ = no_value;                  ///< of all experts, for every token
    ValueId weights_ = no_value, dweights_ = no_value;  ///< of copies
    ValueId copies_gradient_ = no_value;                ///< of the router's input: what its copies add up to,
    ValueId routed_gradient_ = no_value;                ///< and all of it
};

/// Received tokens lie by the rank that they come from; products want them by expert. All rows of a rank and an expert
/// lie together and are copied together, by torch.cat or Transformer Engine's sort: a plain stream.
ValueId ExpertSharder::sort(List& list, const std::string& name, Table from, ValueId rows) {
    if (shapes_.experts == 1 || (!shapes_.exchanges && !shapes_.gathers)) return rows;
    const ValueId sorted = rows_of_hidden(shapes_.rows, stream_.flow.value(rows).role);
    Launch by_row;
    by_row.kernel = stream_.pointwise(PointwiseKind::embedding, shapes_.rows, op_.width());
    add(list, name, stream_.pointwise(PointwiseKind::scale, shapes_.rows, op_.width()), {table(from), {rows}, {sorted}},
        by_row, true);
    return sorted;
}

ValueId ExpertSharder::exchange(List& list, const std::string& name, ValueId rows) {
    if (!shapes_.exchanges) return rows;
    const ValueId received = rows_of_hidden(shapes_.sent, stream_.flow.value(rows).role);
    list.push_back({.name = name,
                    .what = LayerCollective{CollectiveKind::all_to_all, shapes_.sent * op_.width() * stream_.bytes,
                                            plan_.expert_group()},
                    .routed = true,
                    .detail = {{{rows}, {received}}}});
    return received;
}

ValueId ExpertSharder::over_tensor(List& list, const std::string& name, CollectiveKind kind, ValueId rows) {
    if (!shapes_.gathers) return rows;
    const std::uint64_t left = kind == CollectiveKind::all_gather ? shapes_.rows : shapes_.sent;
    const ValueId moved = rows_of_hidden(left, stream_.flow.value(rows).role);
    list.push_back({.name = name,
                    .what = LayerCollective{kind, shapes_.rows * op_.width() * stream_.bytes, {Axis::tensor}},
                    .routed = true,
                    .detail = {{{rows}, {moved}}}});
    return moved;
}

ValueId ExpertSharder::to_experts(List& list, const std::string& what, ValueId rows) {
    rows = exchange(list, "dispatch" + what, rows);
    rows = over_tensor(list, "gather tokens" + what, CollectiveKind::all_gather, rows);
    return sort(list, "sort by expert" + what, Table::arrived_row, rows);
}

ValueId ExpertSharder::from_experts(List& list, const std::string& what, ValueId rows) {
    rows = sort(list, "sort by rank" + what, Table::sorted_row, rows);
    rows = over_tensor(list, "reduce tokens" + what, CollectiveKind::reduce_scatter, rows);
    return exchange(list, "combine" + what, rows);
}

/// In the format of activations also under fp8. Every tensor rank routes its own tokens with all of the weight.
void ExpertSharder::router() {
    const auto m = static_cast<std::uint32_t>(shapes_.tokens), n = static_cast<std::uint32_t>(op_.experts),
               k = static_cast<std::uint32_t>(op_.hidden);
    Piece piece{.name = "router"};
    const auto weight =
        stream_.parameter({.name = "router.weight", .parts = {op_.experts}, .cols = op_.hidden, .replicated = true},
                          op_.experts * op_.hidden);
    if (op_.adds_shared) shared_ = stream_.value;
    tokens_ = op_.adds_shared ? stream_.normed : stream_.value;
    copies_gradient_ = rows_of_hidden(shapes_.tokens, Role::gradient);
    const ValueId logits = by_expert(Role::activation);
    probabilities_ = by_expert(Role::activation);
    weights_ = stream_.flow.activation(Format::fp32, shapes_.sent);
    dweights_ = stream_.flow.gradient(Format::fp32, shapes_.sent);
    Launch wide;
    wide.settings.result = Dtype::fp32;  // what the gate takes
    add(piece.forward, "router", Gemm{stream_.element, 1, m, n, k}, {{tokens_}, {weight.weight}, {logits}}, wide);
    add(piece.forward, "gate", Pointwise{PointwiseKind::moe_gate, Dtype::fp32, shapes_.tokens, op_.experts},
        {{logits}, {probabilities_}, table(Table::copy_expert), {weights_}}, given_experts());
    add_router_operators(plan_, shapes_, op_, piece);
    router_backward(piece, weight);
    const std::uint64_t input =
        op_.adds_shared && !keeps_casts(plan_) ? 0 : shapes_.tokens * op_.hidden * stream_.bytes;  // the shared MLP's
    piece.saved_bytes = input + shapes_.tokens * op_.experts * 4;
    piece.input_bytes = piece.weight_saved_bytes = input;
    piece.takes = Module::layernorm;
    piece.output_gradient_bytes = shapes_.tokens * op_.experts * stream_.bytes;
    piece.working_bytes = shapes_.tokens * op_.experts * (stream_.bytes + 4);
    piece.counts.trained = piece.counts.replicated = op_.experts * op_.hidden;
    stream_.layer.pieces.push_back(std::move(piece));
}

void ExpertSharder::router_backward(Piece& piece, const FlowBuilder::Weights& weight) {
    const auto m = static_cast<std::uint32_t>(shapes_.tokens), n = static_cast<std::uint32_t>(op_.experts),
               k = static_cast<std::uint32_t>(op_.hidden);
    const ValueId dlogits = stream_.flow.gradient(stream_.format(), shapes_.tokens * op_.experts);
    routed_gradient_ =
        op_.adds_shared ? rows_of_hidden(shapes_.tokens, Role::gradient) : stream_.flow.gradient_of(tokens_);
    Launch gate = given_experts();
    gate.narrowed = stream_.format() != Format::fp32;
    add(piece.backward, "gate backward",
        Pointwise{PointwiseKind::softmax_backward, Dtype::fp32, shapes_.tokens, op_.experts},
        {{probabilities_}, {dweights_}, {dlogits}}, gate);
    add(piece.backward, "router dgrad", Gemm{stream_.element, 1, m, k, n, GemmPass::data_gradient},
        {{dlogits}, {weight.weight}, {routed_gradient_}});
    piece.backward.push_back(weight_gradient(stream_, "router wgrad",
                                             {stream_.element, 1, k, n, m, GemmPass::weight_gradient},
                                             {dlogits, tokens_, weight.gradient}));
    // Its input goes to the experts (and the shared one) as well.
    add(piece.backward, "sum router gradient", stream_.pointwise(PointwiseKind::add, shapes_.tokens, op_.hidden),
        {{routed_gradient_}, {copies_gradient_}, {routed_gradient_}});
}

void ExpertSharder::dispatch() {
    Piece piece{.name = "dispatch"};
    const ValueId permuted = rows_of_hidden(shapes_.sent, Role::activation);
    add(piece.forward, "permute", copies(PointwiseKind::permute), {{tokens_}, table(Table::copy_source), {permuted}},
        moved(PointwiseKind::permute));
    stream_.value = to_experts(piece.forward, "", permuted);
    const ValueId returned = from_experts(piece.backward, " gradient", stream_.flow.gradient_of(stream_.value));
    add(piece.backward, "permute backward", copies(PointwiseKind::unpermute),
        {{returned}, table(Table::copy_row), table(Table::ones), {copies_gradient_}}, moved(PointwiseKind::unpermute));
    piece.saved_bytes = shapes_.sent * 4;  // each copy's place
    piece.working_bytes = (shapes_.sent + shapes_.rows) * op_.width() * stream_.bytes;
    stream_.layer.pieces.push_back(std::move(piece));
}

/// A product of all of a rank's experts is one of as many equal parts.
void ExpertSharder::product(const std::string& name, bool up) {
    const Dtype compute = plan_.training.precision.compute;
    const std::uint32_t each = shapes_.rows_each, experts = shapes_.experts;
    const std::uint32_t out = up ? shapes_.inner : static_cast<std::uint32_t>(op_.width()),
                        in = up ? static_cast<std::uint32_t>(op_.width()) : shapes_.ffn;
    const auto quantise = [&](List& list, std::uint64_t width) {
        if (is_narrow(compute)) add_quantisation(plan_, list, shapes_.rows, width, true);
    };
    Piece piece{.name = name};
    const ExpertWeights held = expert_weights(stream_, op_, shapes_, up);
    const ValueId x = stream_.value, y = stream_.activation(shapes_.rows * out);
    const ValueId dy = stream_.flow.gradient_of(y), dx = stream_.flow.gradient_of(x);
    Launch biased;
    if (op_.bias) biased.bias = {held.bias.weight};
    biased.first_bias = !up && shapes_.gathers;
    quantise(piece.forward, in);
    add(piece.forward, name, Gemm{compute, experts, each, out, in}, {{x}, {held.weight.weight}, {y}}, biased, true);
    quantise(piece.backward, out);
    add_transposed_weight(piece.backward, plan_, std::uint64_t{experts} * out, in);
    add(piece.backward, name + " dgrad", Gemm{compute, experts, each, in, out, GemmPass::data_gradient},
        {{dy}, {held.weight.weight}, {dx}}, {}, true);
    const bool fused = !adds_apart(plan_);
    const ValueId separate =
        fused ? no_value : stream_.flow.gradient(stream_.sums(), std::uint64_t{experts} * out * in);
    piece.backward.push_back(weight_gradient(stream_, name + " wgrad",
                                             {compute, experts, in, out, each, GemmPass::weight_gradient},
                                             {dy, x, held.weight.gradient, separate}));
    piece.backward.back().routed = true;
    Launch each_bias = stream_.into_gradients();
    each_bias.parts = experts;
    const bool apart = !up && adds_expert_bias_apart(plan_, op_);
    if (op_.bias && !apart) {
        add(piece.backward, name + " bias gradient", stream_.pointwise(PointwiseKind::bias_gradient, shapes_.rows, out),
            {{dy}, {held.bias.gradient}}, each_bias, true);
        piece.backward.back().of_weights = true;
    }
    if (!fused) {
        add(piece.backward, name + " accumulate",
            Pointwise{PointwiseKind::add, plan_.training.precision.grad_reduce, std::uint64_t{experts} * in, out},
            {{held.weight.gradient}, {separate}, {held.weight.gradient}});
        piece.backward.back().of_weights = true;
    }
    stream_.value = y;
    piece.saved_bytes = piece.weight_saved_bytes = piece.input_bytes = kept_input_bytes(plan_, shapes_.rows * in);
    if (!up) piece.takes = Module::moe_act;
    piece.output_gradient_bytes = shapes_.rows * out * stream_.bytes;
    piece.working_bytes = shapes_.rows * (std::uint64_t{in} + out) * stream_.bytes;
    piece.counts.trained = piece.counts.experts =
        std::uint64_t{experts} * out * (std::uint64_t{in} + (op_.bias ? 1 : 0));
    if (apart) add_expert_bias(plan_, shapes_, op_.width(), piece);
    stream_.layer.flow.complete = stream_.layer.flow.complete && !apart;
    if (pads_experts_apart(plan_)) add_expert_padding(stream_, shapes_, op_.width(), up, piece);
    stream_.layer.pieces.push_back(std::move(piece));
}

void ExpertSharder::activation() {
    const models::Activation each{.gated = op_.gated, .width = shapes_.ffn, .kind = op_.activation};
    Piece piece{.name = "experts " + name_of(each), .part_of = Module::moe_act};
    add_activation(stream_, piece, each, shapes_.rows, true);
    if (clamps_apart(plan_, op_)) add_clamps(stream_, shapes_, piece);
    const bool keeps = op_.gated || op_.activation != models::ActivationKind::relu;  // a ReLU what comes next does
    piece.input_bytes = keeps ? shapes_.rows * shapes_.inner * kept_function_bytes(stream_) : 0;
    piece.saved_bytes += piece.input_bytes;
    piece.working_bytes += shapes_.rows * (shapes_.ffn * stream_.bytes + wide_input_bytes(stream_, shapes_.ffn));
    stream_.layer.pieces.push_back(std::move(piece));
}

/// The results that come back stay for the gradient of the router's weights.
void ExpertSharder::combine() {
    Piece piece{.name = "combine"};
    const ValueId results = stream_.value;
    const ValueId returned = from_experts(piece.forward, "", results);
    const ValueId summed = rows_of_hidden(shapes_.tokens, Role::activation);
    const Pointwise add_rows = stream_.pointwise(PointwiseKind::add, shapes_.tokens, op_.hidden);
    add(piece.forward, "unpermute", copies(PointwiseKind::unpermute),
        {{returned}, table(Table::copy_row), {weights_}, {summed}}, moved(PointwiseKind::unpermute));
    if (op_.adds_shared) {
        add(piece.forward, "add shared expert", add_rows, {{summed}, {shared_}, {summed}});
        stream_.flow.set_gradient(shared_, stream_.flow.gradient_of(summed));
    }
    const ValueId spread = rows_of_hidden(shapes_.sent, Role::gradient);
    Launch weighed = moved(PointwiseKind::permute);
    weighed.unpermuted = {returned};
    weighed.unpermuted_weight = {weights_};
    weighed.unpermuted_dweight = {dweights_};
    add(piece.backward, "unpermute backward", copies(PointwiseKind::permute),
        {{stream_.flow.gradient_of(summed)}, table(Table::copy_source), {spread}}, weighed);
    stream_.flow.set_gradient(results, to_experts(piece.backward, " gradient", spread));
    stream_.value = summed;
    piece.saved_bytes = shapes_.sent * op_.width() * stream_.bytes;
    piece.working_bytes = (shapes_.tokens + shapes_.rows) * op_.width() * stream_.bytes;
    stream_.layer.pieces.push_back(std::move(piece));
}

/// The norm's output goes to a shared expert too: what its backward leaves and what the router's does meet at the norm.
void ExpertSharder::meet_shared() {
    const View sum{stream_.flow.gradient_of(stream_.normed)};
    auto& backward = stream_.layer.pieces[stream_.norm].backward;
    backward.insert(backward.begin(),
                    {.name = "sum expert gradients",
                     .what = stream_.pointwise(PointwiseKind::add, stream_.residual_tokens, op_.hidden),
                     .detail = {{sum, {routed_gradient_}, sum}}});
}

/// What every token takes, weighted by the sigmoid of a product with one vector (modeling_qwen2_moe.py): passes over
/// the norm's output and over the result, whose products with its gradient are summed. Priced, not yet executed.
void ExpertSharder::gate_shared() {
    Piece piece{.name = "shared expert gate"};
    const auto pass = [&](PointwiseKind kind) { return stream_.pointwise(kind, shapes_.tokens, op_.hidden); };
    stream_.parameter({.name = "shared_gate.weight", .parts = {1}, .cols = op_.hidden, .replicated = true}, op_.hidden);
    piece.forward.push_back({"shared expert gate", pass(PointwiseKind::sum_of_squares)});
    piece.forward.push_back({"weigh shared expert", pass(PointwiseKind::scale)});
    piece.backward.push_back({"weigh shared expert backward", pass(PointwiseKind::scale)});
    piece.backward.push_back({"shared expert gate backward", pass(PointwiseKind::add)});
    piece.backward.push_back({"shared expert gate dgrad", pass(PointwiseKind::scale)});
    piece.backward.push_back({"shared expert gate wgrad", pass(PointwiseKind::sum_of_squares)});
    piece.saved_bytes = piece.working_bytes = shapes_.tokens * op_.hidden * stream_.bytes;
    piece.counts.trained = piece.counts.replicated = op_.hidden;
    stream_.layer.pieces.push_back(std::move(piece));
}

/// Between the hidden width and that of the experts, each rank's own tokens with all of the weight (Megatron-LM,
/// moe_layer.py, fc1_latent_proj and fc2_latent_proj). Priced, not executed.
void ExpertSharder::project(const char* name, std::uint64_t in, std::uint64_t out) {
    const auto m = static_cast<std::uint32_t>(shapes_.tokens), n = static_cast<std::uint32_t>(out),
               k = static_cast<std::uint32_t>(in);
    const Dtype compute = plan_.training.precision.compute;
    Piece piece{.name = name};
    if (is_narrow(compute)) add_quantisation(plan_, piece.forward, m, k);
    piece.forward.push_back({name, Gemm{compute, 1, m, n, k}});
    if (is_narrow(compute)) add_quantisation(plan_, piece.backward, m, n);
    add_transposed_weight(piece.backward, plan_, n, k);
    piece.backward.push_back({std::string(name) + " dgrad", Gemm{compute, 1, m, k, n, GemmPass::data_gradient}});
    piece.backward.push_back({.name = std::string(name) + " wgrad",
                              .what = Gemm{compute, 1, k, n, m, GemmPass::weight_gradient},
                              .of_weights = true});
    piece.saved_bytes = piece.weight_saved_bytes = kept_input_bytes(plan_, shapes_.tokens * in);
    piece.output_gradient_bytes = shapes_.tokens * out * stream_.bytes;
    piece.working_bytes = shapes_.tokens * (in + out) * stream_.bytes;
    piece.counts.trained = piece.counts.replicated = in * out;
    stream_.layer.flow.complete = false;
    stream_.layer.pieces.push_back(std::move(piece));
}

void ExpertSharder::shard() && {
    if (op_.gates_shared) gate_shared();
    router();
    if (op_.latent > 0) project("latent down", op_.hidden, op_.latent);
    const bool executed = plan_.strategy.dispatcher == Dispatcher::alltoall;
    const std::size_t dispatched = stream_.layer.pieces.size();
    executed ? dispatch() : dispatch_priced(stream_, op_, shapes_);
    stream_.layer.pieces[dispatched].host_waits = host_reads_counts(plan_.training);
    product("experts up", true);
    activation();
    product("experts down", false);
    executed ? combine() : combine_priced(stream_, op_, shapes_);
    if (op_.latent > 0) project("latent up", op_.latent, op_.hidden);
    if (op_.adds_shared) meet_shared();
    const bool even = shapes_.rows % shapes_.experts == 0 && shapes_.sent == shapes_.tokens * op_.top_k;
    if (!even) stream_.layer.flow.complete = false;  // as run/support.cpp refuses it
}

}  // namespace

bool host_reads_counts(const Training& training) {
    const bool recorded = training.cuda_graph && training.cuda_graph_scope == CudaGraphScope::full_iteration;
    return hardware::is_eager(training.software) && !recorded && !training.pad_to_capacity;
}

void shard_experts(LayerStream& stream, const models::Experts& op) { ExpertSharder(stream, op).shard(); }

}  // namespace orrery::strategies
