// Attention over sequences that context ranks share, as TransformerEngine runs it
// (pytorch/attention/dot_product_attention/context_parallel.py). A causal sequence is cut into 2 C parts and rank r of
// C holds parts r and 2 C - 1 - r, so that all ranks have as much to do. One program stands for all ranks: where they
// differ in shapes, not in work, it has those of a rank in the middle.
//
// Copies are executed as look-ups of rows, by tables. A file of its own has the ring (ring.cpp).
#include "strategies/partition/context.hpp"

#include <array>

namespace orrery::strategies {

namespace {

using kernels::Attention;
using kernels::CollectiveKind;
using kernels::PointwiseKind;

class ExchangeSharder : ContextSharder {
public:
    ExchangeSharder(LayerStream& stream, const SharedCore& core, Piece& piece) : ContextSharder(stream, core, piece) {}

    void gathered();
    void repeat_keys();
    /// ring: groups of ranks that exchange heads among them, and pass keys and values on.
    void by_heads(std::uint32_t ring);

private:
    /// Copies that bring parts of tokens, or of heads, next to each other; `whole` counts the tokens of all ranks.
    void copy(List& list, const char* name, std::uint64_t heads, bool whole = false) const {
        pass(list, name, PointwiseKind::transpose, s_.tokens() * (whole ? ranks_ : 1), heads * s_.kernel_dim());
    }

    /// Queries, keys or values, or gradients of them: their heads, and where they lie in a token's packed row.
    struct Part {
        std::uint32_t heads;
        std::uint64_t first;
        Table spread, back;
    };
    [[nodiscard]] std::array<Part, 3> parts() const {
        using enum Table;
        return {Part{s_.heads, 0, spread_queries, return_queries},
                Part{s_.kv_heads, s_.heads, spread_keys, return_keys},
                Part{s_.kv_heads, std::uint64_t{s_.heads} + s_.kv_heads, spread_keys, return_keys}};
    }
    /// Rows of one head of all of a rank's tokens, and their elements.
    [[nodiscard]] std::uint64_t rows(std::uint64_t heads) const { return s_.tokens() * heads; }
    [[nodiscard]] std::uint64_t elements(std::uint64_t heads) const { return rows(heads) * s_.head_dim; }
    [[nodiscard]] std::uint64_t packed_heads() const { return std::uint64_t{s_.heads} + 2ULL * s_.kv_heads; }
    [[nodiscard]] View fresh(std::uint64_t heads, bool gradient) const {
        return {gradient ? stream_.flow.gradient(stream_.format(), elements(heads))
                         : stream_.activation(elements(heads))};
    }
    void look_up(List& list, const char* name, std::uint64_t heads, View table, View from, View to) const;
    [[nodiscard]] View table(Table which, std::uint64_t heads) const {
        return {stream_.flow.table(which, kernels::Format::int32, rows(heads))};
    }
    View exchanged(List& list, const char* name, std::uint64_t heads, View sent, View arrived) const {
        exchange(list, name, CollectiveKind::all_to_all, rows(heads) * s_.kernel_dim() * s_.element_bytes);
        list.back().detail = {{sent, arrived}};
        return arrived;
    }
    void heads_meet(View packed);
    void results_return(View result);
    void gradients_meet(View of_result);
    void gradients_return(View of_packed);
    void attend(const SharedCore& core);

    bool repeated_ = false;  ///< keys and values, for ranks that have no head of their own

    /// Of all ranks' keys, or values, where they are gathered.
    [[nodiscard]] std::uint64_t all_keys() const { return s_.tokens() * ranks_ * keys_width(); }
    [[nodiscard]] std::uint64_t gathered_bytes() const { return s_.kv_bytes() / 2 * ranks_; }
    /// A rank's own keys, or values, in packed rows.
    [[nodiscard]] View own(ValueId packed, bool values) const {
        return {packed, s_.query_row() + (values ? keys_width() : 0), keys_width(), s_.row()};
    }
    [[nodiscard]] std::uint32_t parts_of_queries() const { return s_.causal ? 2 : 1; }
    [[nodiscard]] Attention part_kernel(bool backward, std::uint32_t part) const;
    std::array<View, 2> gather(List& list);
    void scatter(List& list, ValueId gradients);
    void order_parts(List& list, Table table, View from, View to);
};

/// Llama 3 (arXiv:2407.21783, section 3.3.2): keys and values are gathered, in the backward once more; each of a rank's
/// two parts of queries sees the keys up to its own.
void ExchangeSharder::gathered() {
    const std::array<View, 2> in_forward = gather(piece_.forward);
    const ValueId lse = executable() ? log_sum_exps() : no_value;
    for (std::uint32_t part = 0; part < parts_of_queries(); ++part) {
        piece_.forward.push_back({"attention", part_kernel(false, part)});
        if (!executable()) continue;
        piece_.forward.back().detail = {{{packed_}, in_forward[0], in_forward[1], {result_}, {lse}},
                                        shared(SharedSequences::Step::gathered, part, keys_width())};
    }
    const std::array<View, 2> in_backward = gather(piece_.backward);
    std::vector<ValueId> formed;  // gradients of all keys, then of all values
    for (std::uint32_t part = 0; part < parts_of_queries(); ++part) {
        piece_.backward.push_back({"attention backward", part_kernel(true, part)});
        if (!executable()) continue;
        formed.push_back(stream_.flow.gradient(stream_.format(), 2 * all_keys()));
        Launch launch = shared(SharedSequences::Step::gathered, part, keys_width());
        launch.zeroed = 3U << 7U;
        piece_.backward.back().detail = {{{packed_},
                                          in_backward[0],
                                          in_backward[1],
                                          {result_},
                                          {lse},
                                          {stream_.flow.gradient_of(result_)},
                                          {stream_.flow.gradient_of(packed_)},
                                          {formed.back()},
                                          {formed.back(), all_keys()}},
                                         launch};
    }
    if (s_.causal) {
        pass(piece_.backward, "add key gradients", PointwiseKind::add, s_.tokens() * ranks_, s_.kv_row());
        if (executable()) piece_.backward.back().detail = {{{formed[1]}, {formed[0]}, {formed[1]}}};
    }
    scatter(piece_.backward, formed.empty() ? no_value : formed.back());
    piece_.saved_bytes = s_.qkv_bytes() + s_.lse_bytes();
    piece_.working_bytes = s_.result_bytes() + 2 * s_.kv_bytes() * ranks_;
}

/// Priced as the first rank's, whose parts are the sequence's first and its last. Within a window those have least to
/// do: then as the last rank's, whose parts are in the middle and which the others wait for.
Attention ExchangeSharder::part_kernel(bool backward, std::uint32_t part) const {
    const std::uint32_t whole = s_.seq * ranks_, half = s_.seq / 2;
    if (!s_.causal) return kernel(backward, s_.seq, whole, false);
    const bool windowed = s_.window_in(whole) > 0;
    const std::uint32_t first = windowed ? whole / 2 : half, last = windowed ? whole / 2 + half : whole;
    return kernel(backward, half, part == 0 ? first : last, true);
}

/// Keys and values of all ranks, by position.
std::array<View, 2> ExchangeSharder::gather(List& list) {
    std::array<View, 2> whole{};
    for (const bool values : {false, true}) {
        exchange(list, values ? "gather values" : "gather keys", CollectiveKind::all_gather, gathered_bytes());
        if (executable()) {
            const View arrived{stream_.activation(all_keys())};
            whole[values ? 1 : 0] = {stream_.activation(all_keys())};
            list.back().detail = {{own(packed_, values), arrived}};
            order_parts(list, Table::by_position, arrived, whole[values ? 1 : 0]);
        } else {
            copy(list, "order parts", s_.kv_heads, true);
        }
    }
    return whole;
}

void ExchangeSharder::scatter(List& list, ValueId gradients) {
    for (const bool values : {false, true}) {
        const View sent{executable() ? stream_.flow.gradient(stream_.format(), all_keys()) : no_value};
        if (executable())
            order_parts(list, Table::by_rank, {gradients, values ? all_keys() : 0}, sent);
        else
            copy(list, "order parts", s_.kv_heads, true);
        exchange(list, values ? "scatter value gradients" : "scatter key gradients", CollectiveKind::reduce_scatter,
                 gathered_bytes());
        if (executable()) list.back().detail = {{sent, own(stream_.flow.gradient_of(packed_), values)}};
    }
}

/// Priced as a copy, and launched as a look-up of all heads' rows.
void ExchangeSharder::order_parts(List& list, Table table, View from, View to) {
    copy(list, "order parts", s_.kv_heads, true);
    const std::uint64_t rows = s_.tokens() * ranks_;
    Launch launch;
    launch.settings.table_rows = rows;
    launch.kernel = stream_.pointwise(PointwiseKind::embedding, rows, keys_width());
    list.back().detail = {{{stream_.flow.table(table, kernels::Format::int32, rows)}, from, to}, launch};
}

/// A copy that is priced as what it moves, and launched as a look-up of rows.
void ExchangeSharder::look_up(List& list, const char* name, std::uint64_t heads, View table, View from, View to) const {
    copy(list, name, heads);
    Launch launch;
    launch.settings.table_rows = (stream_.flow.value(from.value).elements - from.offset) / s_.head_dim;
    launch.kernel = stream_.pointwise(PointwiseKind::embedding, rows(heads), s_.head_dim);
    list.back().detail = {{table, from, to}, launch};
}

/// Brings all tokens of the group's ranks together, and a share of the heads: the packed rows that attention takes.
void ExchangeSharder::heads_meet(View packed) {
    List& list = piece_.forward;
    const View all = fresh(packed_heads(), false);
    for (const Part& part : parts()) {
        const View sent = fresh(part.heads, false);
        look_up(list, "order heads", part.heads, table(part.spread, part.heads), {packed_, part.first * s_.head_dim},
                sent);
        exchanged(list, "exchange heads", part.heads, sent, {all.value, elements(part.first)});
    }
    const View places = table(Table::order_packed, packed_heads());
    for (const Part& part : parts())
        look_up(list, "order tokens", part.heads, {places.value, rows(part.first)}, all,
                {packed.value, elements(part.first)});
}

void ExchangeSharder::results_return(View result) {
    List& list = piece_.forward;
    const View sent = fresh(s_.heads, false);
    look_up(list, "order heads", s_.heads, table(Table::return_results, s_.heads), result, sent);
    const View arrived = exchanged(list, "exchange results", s_.heads, sent, fresh(s_.heads, false));
    look_up(list, "order tokens", s_.heads, table(Table::join_results, s_.heads), arrived, {result_});
}

void ExchangeSharder::gradients_meet(View of_result) {
    List& list = piece_.backward;
    const View sent = fresh(s_.heads, true);
    look_up(list, "order heads", s_.heads, table(Table::spread_results, s_.heads), {stream_.flow.gradient_of(result_)},
            sent);
    const View arrived = exchanged(list, "exchange result gradients", s_.heads, sent, fresh(s_.heads, true));
    look_up(list, "order tokens", s_.heads, table(Table::order_results, s_.heads), arrived, of_result);
}

/// The copies that leave a packed row in its place come last: each has some of its heads.
void ExchangeSharder::gradients_return(View of_packed) {
    List& list = piece_.backward;
    const View all = fresh(packed_heads(), true);
    for (const Part& part : parts()) {
        const View leaving = fresh(part.heads, true);
        look_up(list, "order heads", part.heads, table(part.back, part.heads),
                {of_packed.value, part.first / ranks_ * s_.head_dim}, leaving);
        exchanged(list, "exchange gradients", part.heads, leaving, {all.value, elements(part.first)});
    }
    const View places = table(Table::join_packed, packed_heads());
    for (const Part& part : parts())
        look_up(list, "order tokens", part.heads, {places.value, rows(part.first)}, all,
                {stream_.flow.gradient_of(packed_), elements(part.first)});
}

/// One kernel each way over all tokens of a rank's heads.
void ExchangeSharder::attend(const SharedCore& core) {
    const AttentionShape& s = core.shape;
    const ValueId lse = stream_.flow.activation(kernels::Format::fp32, s.tokens() * s.heads);
    const std::uint64_t keys = s.query_row(), values = keys + std::uint64_t{s.kv_heads} * s.head_dim;
    std::vector<View> operands{{core.packed}, {core.packed, keys}, {core.packed, values}, {core.result}, {lse}};
    Launch launch;
    launch.settings.row_stride = std::uint64_t{s.heads + 2 * s.kv_heads} * s.head_dim;
    const Attention forward{s.dtype, false, s.causal, s.batch, s.seq, s.heads, s.kv_heads, s.kernel_dim()};
    Attention priced = forward;
    priced.key_seq = s.seq;
    if (s.causal) priced.window = s.window_in(s.seq);
    piece_.forward.push_back({.name = "attention", .what = priced, .detail = {operands, launch}});
    const ValueId gradient = stream_.flow.gradient_of(core.packed);
    operands.insert(operands.end(),
                    {{stream_.flow.gradient_of(core.result)}, {gradient}, {gradient, keys}, {gradient, values}});
    priced.backward = true;
    piece_.backward.push_back({.name = "attention backward", .what = priced, .detail = {std::move(operands), launch}});
    piece_.saved_bytes = s.qkv_bytes() + s.lse_bytes();
    piece_.working_bytes = s.qkv_bytes();
}

/// Of fewer heads of keys and values than there are ranks each is copied for as many as take it (DeepSpeed,
/// runtime/sequence_parallel/ulysses_sp.py, kv_replication_factor): rows of queries, keys and values grow.
void ExchangeSharder::repeat_keys() {
    s_.kv_heads = ranks_;
    repeated_ = true;
    pass(piece_.forward, "copy keys and values", PointwiseKind::transpose, s_.tokens(), s_.kv_row());
    packed_ = fresh(packed_heads(), false).value;
    stream_.layer.flow.complete = false;
}

/// DeepSpeed-Ulysses (Jacobs et al. 2023, arXiv:2309.14509): each rank has all tokens of its share of the heads while
/// attention runs, and brings results back. A copy makes the parts that leave contiguous, another orders what came.
/// Where more ranks share the sequence than exchange heads (Fang and Zhao 2024, arXiv:2405.07719; TransformerEngine's
/// a2a+p2p) the groups that do form a ring, as if each were one rank of it.
void ExchangeSharder::by_heads(std::uint32_t ring) {
    if (s_.kv_heads < ranks_) repeat_keys();
    SharedCore core{s_, ring, {Axis::context}, no_value, no_value};
    core.shape.seq *= ranks_;
    core.shape.keys *= ranks_;
    core.shape.heads /= ranks_;
    core.shape.kv_heads /= ranks_;
    core.packed = fresh(packed_heads(), false).value;
    core.result = fresh(s_.heads, false).value;
    heads_meet({core.packed});
    gradients_meet({stream_.flow.gradient_of(core.result)});
    if (ring > 1)
        shard_as_ring(stream_, core, piece_);
    else
        attend(core);
    results_return({core.result});
    gradients_return({stream_.flow.gradient_of(core.packed)});
    if (repeated_) pass(piece_.backward, "add gradients of copies", PointwiseKind::add, s_.tokens(), s_.kv_row());
    piece_.saved_bytes += s_.result_bytes();  // as attention left them
    piece_.working_bytes += s_.qkv_bytes();
}

}  // namespace

void shard_over_context(LayerStream& stream, const AttentionShape& shape, Piece& piece) {
    const Plan& plan = stream.plan;
    SharedCore core{shape, plan.strategy.context, plan.context_group(), stream.value,
                    stream.activation(shape.tokens() * shape.result_row())};
    stream.value = core.result;
    const std::uint32_t exchanging = plan.context_heads();
    if (plan.templated_ring())
        return shard_as_templated_ring(stream, core, piece,
                                       plan.strategy.context_exchange == ContextExchange::all_gather);
    switch (plan.strategy.context_exchange) {
        case ContextExchange::p2p: return shard_as_ring(stream, core, piece);
        case ContextExchange::all_gather: return ExchangeSharder(stream, core, piece).gathered();
        case ContextExchange::a2a: return ExchangeSharder(stream, core, piece).by_heads(1);
        case ContextExchange::a2a_p2p:
            core.ranks = exchanging;
            core.group = {Axis::context_inner};
            return ExchangeSharder(stream, core, piece).by_heads(plan.strategy.context / exchanging);
    }
}

}  // namespace orrery::strategies
