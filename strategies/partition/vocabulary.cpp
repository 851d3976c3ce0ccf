// The two ends of a model, which know words: the embedding and the loss, each over the rank's part of the vocabulary.
#include "strategies/partition/chunked_loss.hpp"
#include "strategies/partition/sharder.hpp"
#include "strategies/pytorch_tensor.hpp"
#include "strategies/stage_split.hpp"

namespace orrery::strategies {

namespace {

using kernels::Dtype;
using kernels::Format;
using kernels::Pointwise;
using kernels::PointwiseKind;

class EmbeddingSharder {
public:
    EmbeddingSharder(LayerStream& stream, const models::Embedding& op)
        : stream_(stream), op_(op), rows_(stream.plan.padded_vocab() / stream.tensor), elsewhere_(lies_elsewhere()) {}

    void shard() && {
        parameters();
        forward();
        backward();
        piece_.saved_bytes =
            stream_.tokens * 8 + (op_.dropout ? stream_.residual_tokens * op_.hidden : 0);  // ids, mask
        piece_.working_bytes = 2 * stream_.residual_bytes(op_.hidden);
        if (!elsewhere_) {
            piece_.counts.replicated = (op_.positions + op_.token_types) * op_.hidden;
            piece_.counts.trained = rows_ * op_.hidden + piece_.counts.replicated;
        }
        piece_.borrows_words = elsewhere_ && ends_meet(stream_.plan);  // the tables of the rank's first layer
        stream_.layer.pieces.push_back(std::move(piece_));
    }

private:
    void parameters();
    void forward();
    void drop();
    void backward();
    /// A stage that is not the first one has the words of tied logits, or holds a copy where they are looked up first.
    [[nodiscard]] bool lies_elsewhere() const {
        const bool held = op_.copied && !stream_.plan.model.tied_embeddings && !ends_meet(stream_.plan);
        return op_.shared && !held;
    }
    [[nodiscard]] Pointwise over_rows(PointwiseKind kind) const { return stream_.on_residual(kind, op_.hidden); }
    /// Under autocast the table is fp32.
    [[nodiscard]] Dtype of_words() const { return stream_.plan.training.autocast ? Dtype::fp32 : stream_.element; }
    [[nodiscard]] View ids() const {
        const bool decodes = stream_.sequence == models::Sequence::decoded;
        return {stream_.flow.table(decodes ? Table::decoded_ids : Table::ids, Format::int32, stream_.tokens)};
    }

    LayerStream& stream_;
    const models::Embedding& op_;
    std::uint64_t rows_;  ///< of the word embedding on this rank
    bool elsewhere_;      ///< another layer holds the tables
    Piece piece_{.name = "embedding"};
    FlowBuilder::Weights words_, positions_;
    ValueId summed_ = no_value;  ///< words, positions and token types
};

void EmbeddingSharder::parameters() {
    words_ = stream_.parameter({.name = word_embedding,
                                .parts = {stream_.plan.padded_vocab()},
                                .cols = op_.hidden,
                                .split = Parameter::Split::rows,
                                .real_rows = stream_.plan.model.vocab,
                                .held = !elsewhere_},
                               rows_ * op_.hidden);
    if (op_.positions > 0)
        positions_ = stream_.parameter({.name = "embedding.positions",
                                        .parts = {op_.positions},
                                        .cols = op_.hidden,
                                        .replicated = true,
                                        .held = !elsewhere_},
                                       op_.positions * op_.hidden);
    if (op_.token_types > 0) stream_.layer.flow.complete = false;
}

void EmbeddingSharder::forward() {
    auto& list = piece_.forward;
    const ValueId looked_up = stream_.activation(stream_.tokens * op_.hidden);
    Work lookup{.name = "word embedding",
                .what = kernels::Pointwise{PointwiseKind::embedding, of_words(), stream_.tokens, op_.hidden},
                .detail = {{ids(), {words_.weight}, {looked_up}}}};
    lookup.detail.launch.settings.table_rows = rows_;
    list.push_back(std::move(lookup));
    stream_.value =
        stream_.convert(list, "embedding reduce", Placement::partial, stream_.residual, op_.hidden, looked_up);
    const View rows{stream_.value};
    if (op_.positions > 0)
        list.push_back(
            {.name = "add positions",
             .what = over_rows(PointwiseKind::add),
             .detail = {{rows, {positions_.weight}, rows}, {.by_position = true, .sequence = stream_.sequence}}});
    if (op_.token_types > 0) list.push_back({"add token types", over_rows(PointwiseKind::add)});
    summed_ = stream_.value;
    if (op_.dropout) drop();
}

/// Its mask is written forward, and read backward.
void EmbeddingSharder::drop() {
    const std::uint64_t elements = stream_.residual_tokens * stream_.residual_columns(op_.hidden);
    const View x{summed_}, mask{stream_.flow.activation(Format::mask, elements)}, y{stream_.activation(elements)};
    const Launch launch = stream_.next_dropout(DropoutSite::Of::residual);
    piece_.forward.push_back(
        {.name = "dropout", .what = over_rows(PointwiseKind::dropout), .detail = {{x, mask, y}, launch}});
    piece_.backward.push_back(
        {.name = "dropout backward",
         .what = over_rows(PointwiseKind::dropout_backward),
         .detail = {{{stream_.flow.gradient_of(y.value)}, mask, {stream_.flow.gradient_of(x.value)}}, launch}});
    stream_.value = y.value;
}

void EmbeddingSharder::backward() {
    auto& list = piece_.backward;
    const ValueId rows = stream_.flow.gradient_of(summed_);
    if (op_.positions > 0) {
        Work sum{.name = "position gradient",
                 .what = over_rows(PointwiseKind::add),
                 .detail = {{{positions_.gradient}, {rows}, {positions_.gradient}},
                            {.by_position = true, .sequence = stream_.sequence}}};
        sum.detail.launch.settings.result = stream_.into_gradients().settings.result;
        list.push_back(std::move(sum));
    }
    if (op_.token_types > 0) list.push_back({"token type gradient", over_rows(PointwiseKind::add)});
    const ValueId all =
        stream_.convert(list, "embedding gather gradient", stream_.residual, Placement::replicated, op_.hidden, rows);
    Work scatter{.name = "embedding backward",
                 .what = kernels::Pointwise{PointwiseKind::embedding_backward, of_words(), stream_.tokens, op_.hidden},
                 .detail = {{ids(), {all}, {words_.gradient}}, stream_.into_gradients()}};
    scatter.detail.launch.settings.table_rows = rows_;
    list.push_back(std::move(scatter));
}

/// In fp32: 16-bit logits are widened before it, and their gradient is rounded behind it. Probabilities, or over a part
/// of the vocabulary exponentials, take the place of the fp32 logits, and their gradient that of these; Orrery's own
/// kernel leaves the gradient of a whole vocabulary at once. PyTorch's operators leave each a tensor of its own; fused
/// kernels take the logits as they are, widen them in registers and leave their gradient in their place.
class LossSharder {
public:
    LossSharder(LayerStream& stream, const models::Loss& op)
        : stream_(stream),
          group_(op.dim == models::Dim::classes ? stream.plan.expert_group() : stream.grid.words()),
          divided_(op.dim == models::Dim::classes ? divides_classes(stream.plan)
                                                  : stream.tensor > 1 && !gathers_logits(stream.plan)),
          tokens_(examples(stream)),
          classes_(op.dim == models::Dim::classes ? own_classes(stream, op.vocab)
                                                  : stream.plan.padded_vocab() / (divided_ ? stream.tensor : 1)) {}

    void shard() && {
        const bool gathered = gathers_logits(stream_.plan);
        rows_ = stream_.value;
        if (gathered) gather();
        if (is(CrossEntropy::fused))
            over_logits_as_they_are();
        else
            over_wide_logits();
        if (gathered) keep_own_gradient();
        stream_.value = no_value;
        account();
        if (const std::uint32_t parts = stream_.plan.training.loss_chunks; parts > 1) {
            cut_loss(tokens_, parts, stream_.layer.pieces.back(), piece_);
            stream_.layer.flow.complete = false;
        }
        stream_.layer.pieces.push_back(std::move(piece_));
    }

private:
    void gather();
    void keep_own_gradient();
    void over_wide_logits();
    void widen();
    void narrow();
    void whole();
    void split();
    void one_by_one();
    void beside_each_other();
    void over_logits_as_they_are();
    void account();
    /// A kernel over the logits whose operands nobody binds.
    void pass(std::vector<Work>& list, const char* name, PointwiseKind kind) const {
        list.push_back({name, over_logits(kind)});
    }
    void over_tokens(std::vector<Work>& list, std::initializer_list<const char*> names) const;
    [[nodiscard]] bool is(CrossEntropy how) const { return stream_.plan.training.cross_entropy == how; }
    [[nodiscard]] ValueId logits_of_model() const { return stream_.value; }
    [[nodiscard]] Pointwise over_logits(PointwiseKind kind) const { return {kind, Dtype::fp32, tokens_, classes_}; }
    void add(std::vector<Work>& list, const char* name, PointwiseKind kind, std::vector<View> operands) const {
        list.push_back(
            {.name = name, .what = over_logits(kind), .detail = {std::move(operands), {.real_classes = true}}});
    }
    /// Vocabulary-parallel loss (Megatron-LM, tensor_parallel/cross_entropy.py): fp32 numbers of every token.
    void agree(const char* name, View of, kernels::Reduction reduction = kernels::Reduction::sum) {
        piece_.forward.push_back({.name = name,
                                  .what = LayerCollective{kernels::CollectiveKind::all_reduce, tokens_ * 4, group_},
                                  .detail = {{of, of}, {.reduction = reduction}}});
    }
    [[nodiscard]] View table(Table which) const {
        return {stream_.flow.table(which, which == Table::targets ? Format::int32 : Format::fp32, tokens_)};
    }

    LayerStream& stream_;
    AxisSet group_;          ///< of ranks among which the classes may be divided: tensor ranks divide a vocabulary
    bool divided_;           ///< whether they are
    std::uint64_t tokens_;   ///< or examples, whose logits the rank has
    std::uint64_t classes_;  ///< on this rank
    Piece piece_{.name = "loss"};
    ValueId rows_ = no_value;  ///< fp32 logits, then probabilities, then their gradient
};

/// DTensor's way from parts of the vocabulary to the whole, which comes rank by rank and is joined row by row.
void LossSharder::gather() {
    const std::uint64_t bytes = tokens_ * classes_ * stream_.bytes;
    piece_.forward.push_back(
        {.name = "logits gather", .what = LayerCollective{kernels::CollectiveKind::all_gather, bytes, group_}});
    piece_.forward.push_back(
        {.name = "join logits", .what = stream_.pointwise(PointwiseKind::scale, tokens_, classes_)});
    stream_.layer.flow.complete = false;
}

/// Of the words that the rank has.
void LossSharder::keep_own_gradient() {
    const std::uint64_t own = classes_ / stream_.tensor;
    piece_.backward.push_back(
        {.name = "own part of logits' gradient", .what = stream_.pointwise(PointwiseKind::scale, tokens_, own)});
}

void LossSharder::over_wide_logits() {
    if (stream_.bytes == 2) widen();
    if (is(CrossEntropy::torch))
        beside_each_other();
    else if (stream_.plan.training.cross_entropy_fusion)
        divided_ ? split() : whole();
    else
        one_by_one();
    if (stream_.bytes == 2)
        narrow();
    else
        stream_.flow.set_gradient(logits_of_model(), rows_);
}

void LossSharder::widen() {
    rows_ = stream_.flow.activation(Format::fp32, tokens_ * classes_);
    piece_.forward.push_back({.name = "logits to fp32",
                              .what = stream_.pointwise(PointwiseKind::cast, tokens_, classes_),
                              .detail = {{{stream_.value}, {rows_}}}});
}

void LossSharder::narrow() {
    Work cast{.name = "logits gradient to 16 bits",
              .what = stream_.pointwise(PointwiseKind::cast, tokens_, classes_),
              .detail = {{{rows_}, {stream_.flow.gradient_of(logits_of_model())}}}};
    cast.detail.launch.settings.result = stream_.element;
    cast.detail.launch.loss_scaled = stream_.plan.training.scales_loss();
    piece_.backward.push_back(std::move(cast));
}

void LossSharder::whole() {
    const View rows{rows_}, targets = table(Table::targets);
    add(piece_.forward, "cross entropy", PointwiseKind::cross_entropy, {rows, targets, rows, table(Table::loss)});
    if (stream_.plan.training.software == hardware::Software::orrery)
        piece_.forward.back().detail.launch.settings.loss_gradient = true;
    else
        add(piece_.backward, "cross entropy backward", PointwiseKind::cross_entropy_backward, {rows, targets, rows});
}

void LossSharder::split() {
    const View rows{rows_}, targets = table(Table::targets), largest = table(Table::loss), sum = table(Table::loss_sum),
                            picked = table(Table::loss_picked);
    add(piece_.forward, "largest logits", PointwiseKind::cross_entropy_maximum, {rows, largest});
    agree("loss maximum", largest, kernels::Reduction::maximum);
    add(piece_.forward, "cross entropy", PointwiseKind::cross_entropy_part,
        {rows, largest, targets, rows, sum, picked});
    agree("loss target", picked);
    agree("loss sum", sum);
    add(piece_.backward, "cross entropy backward", PointwiseKind::cross_entropy_part_backward,
        {rows, sum, targets, rows});
}

/// Megatron-LM's loss without fusion (core/tensor_parallel/cross_entropy.py, VocabParallelCrossEntropy): each operator
/// is a kernel. Twelve of its forward and six of its backward see a number a token.
void LossSharder::one_by_one() {
    auto& list = piece_.forward;
    pass(list, "largest logits", PointwiseKind::cross_entropy_maximum);
    if (divided_) agree("loss maximum", {}, kernels::Reduction::maximum);
    pass(list, "logits less the largest", PointwiseKind::scale);
    over_tokens(list, {"below the rank's words", "above them", "words elsewhere", "copy of targets", "targets here",
                       "no target elsewhere", "rows", "logits of targets", "their copy", "none elsewhere"});
    pass(list, "exponentials", PointwiseKind::scale);
    pass(list, "sum of exponentials", PointwiseKind::cross_entropy_maximum);
    if (divided_) {
        agree("loss target", {});
        agree("loss sum", {});
    }
    over_tokens(list, {"logarithm", "loss"});
    pass(list, "probabilities", PointwiseKind::scale);
    over_tokens(piece_.backward, {"rows", "words elsewhere in fp32", "words here", "probabilities of targets",
                                  "their gradient", "gradient of targets"});
    pass(piece_.backward, "gradient of logits", PointwiseKind::scale);
    stream_.layer.flow.complete = false;
}

/// torch.nn.functional.cross_entropy (aten/src/ATen/native/SoftMax.cpp and LossNLL.cpp): log_softmax leaves
/// log-probabilities, which its backward reads beside the gradient of nll_loss, zeros but for the targets, and leaves a
/// third tensor as large. The fp32 logits end with the forward, before these two begin. Tensor ranks that divide the
/// words agree as ever (torch.distributed.tensor.parallel.loss_parallel).
void LossSharder::beside_each_other() {
    if (divided_) {
        pass(piece_.forward, "largest logits", PointwiseKind::cross_entropy_maximum);
        agree("loss maximum", {}, kernels::Reduction::maximum);
    }
    pass(piece_.forward, "log-probabilities", PointwiseKind::cross_entropy);
    if (divided_) agree("loss sum", {});
    over_tokens(piece_.forward, {"losses of targets"});
    if (divided_) agree("loss target", {});
    pass(piece_.backward, "gradient of log-probabilities", PointwiseKind::fill);
    over_tokens(piece_.backward, {"gradient of targets"});
    pass(piece_.backward, "gradient of logits", PointwiseKind::add);
    stream_.layer.flow.complete = false;
}

/// flash-attention's and Apex's xentropy (csrc/xentropy), Liger's cross_entropy: a pass finds each row's log-sum-exp,
/// another leaves the gradient where the logits were. Tensor ranks agree as ever.
void LossSharder::over_logits_as_they_are() {
    const auto kernel = [&](std::vector<Work>& list, const char* name, PointwiseKind kind) {
        list.push_back({name, stream_.pointwise(kind, tokens_, classes_)});
    };
    kernel(piece_.forward, "cross entropy", PointwiseKind::cross_entropy_maximum);
    if (divided_) {
        agree("loss maximum", {}, kernels::Reduction::maximum);
        agree("loss target", {});
        agree("loss sum", {});
    }
    kernel(piece_.backward, "cross entropy backward", PointwiseKind::cross_entropy_backward);
    stream_.layer.flow.complete = false;
}

/// In place: 16-bit logits beside wide ones, then their 16-bit gradient; fp32 ones are overwritten where they stand.
void LossSharder::account() {
    const std::uint64_t logits = tokens_ * classes_;
    piece_.saved_bytes = logits * (is(CrossEntropy::fused) ? stream_.bytes : 4);
    if (is(CrossEntropy::torch))
        piece_.working_bytes = logits * 8;
    else if (is(CrossEntropy::in_place) && stream_.bytes == 2)
        piece_.working_bytes = logits * 2;
}

void LossSharder::over_tokens(std::vector<Work>& list, std::initializer_list<const char*> names) const {
    for (const char* name : names) list.push_back({name, Pointwise{PointwiseKind::scale, Dtype::fp32, 1, tokens_}});
}

}  // namespace

void shard_concatenation(LayerStream& stream, const models::Concatenation& op) {
    Piece piece{.name = "concatenate"};
    const auto both = stream.on_residual(PointwiseKind::scale, 2 * op.width);
    piece.forward.push_back({.name = "concatenate", .what = both});
    piece.backward.push_back({.name = "concatenate backward", .what = both});
    piece.working_bytes = stream.residual_bytes(2 * op.width);
    stream.layer.flow.complete = false;
    stream.value = stream.activation(stream.residual_tokens * 2 * op.width);
    stream.layer.pieces.push_back(std::move(piece));
}

void shard_embedding(LayerStream& stream, const models::Embedding& op) { EmbeddingSharder(stream, op).shard(); }

/// The padded vocabulary is what runs, not the model's; classes are as many as there are.
void shard_loss(LayerStream& stream, const models::Loss& op) { LossSharder(stream, op).shard(); }

bool keeps_logits(const LayerStream& stream, const models::Linear& op) {
    const Training& training = stream.plan.training;
    if (op.out != models::Dim::vocab) return false;
    return training.cross_entropy == CrossEntropy::fused ||
           (stream.bytes == 4 && training.cross_entropy_fusion && training.cross_entropy == CrossEntropy::in_place);
}

}  // namespace orrery::strategies
