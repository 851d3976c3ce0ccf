// Attention over sequences that context ranks share, as TransformerEngine runs it
// (pytorch/attention/dot_product_attention/context_parallel.py). A causal sequence is cut into 2 C parts and rank r of
// C holds parts r and 2 C - 1 - r, so that all ranks have as much to do. One program stands for all ranks: where they
// differ in shapes, not in work, it has those of a rank in the middle.
//
// Exchanges of heads can be executed: their copies are look-ups of rows of one head, by tables. The other two are
// priced: their works have no operands.
#include <array>

#include "strategies/partition/attention.hpp"

namespace orrery::strategies {

namespace {

using kernels::Attention;
using kernels::CollectiveKind;
using kernels::PointwiseKind;

class ContextSharder {
public:
    ContextSharder(LayerStream& stream, const AttentionShape& shape, Piece& piece)
        : stream_(stream),
          s_(shape),
          piece_(piece),
          ranks_(stream.plan.strategy.context),
          packed_(stream.value),
          result_(stream.activation(shape.tokens() * shape.result_row())) {
        stream.value = result_;
    }

    void ring();
    void gathered();
    void by_heads();

private:
    using List = std::vector<Work>;

    [[nodiscard]] Attention kernel(bool backward, std::uint32_t queries, std::uint32_t keys, bool causal) const {
        Attention a{s_.dtype, backward, causal, s_.batch, queries, s_.heads, s_.kv_heads, s_.kernel_dim()};
        a.key_seq = keys;
        if (causal) a.window = s_.window_in(keys);
        return a;
    }
    /// Over so many rows of all of a rank's heads.
    void pass(List& list, const char* name, PointwiseKind kind, std::uint64_t rows, std::uint64_t cols) const {
        list.push_back({name, stream_.pointwise(kind, rows, cols)});
    }
    void exchange(List& list, const char* name, CollectiveKind kind, std::uint64_t bytes,
                  std::uint8_t raises = 0) const {
        list.push_back({.name = name, .what = LayerCollective{kind, bytes, {Axis::context}}, .raises = raises});
    }
    [[nodiscard]] Attention step(bool backward, std::uint32_t number) const;
    void ring_forward();
    void ring_backward();
    /// Copies that bring parts of tokens, or of heads, next to each other; `whole` counts the tokens of all ranks.
    void copy(List& list, const char* name, std::uint64_t heads, bool whole = false) const {
        pass(list, name, PointwiseKind::transpose, s_.tokens() * (whole ? ranks_ : 1), heads * s_.kernel_dim());
    }

    /// Over all tokens of a rank's share of the heads.
    [[nodiscard]] Attention core(bool backward) const {
        Attention a = kernel(backward, s_.seq * ranks_, s_.seq * ranks_, s_.causal);
        a.heads /= ranks_;
        a.kv_heads /= ranks_;
        return a;
    }
    /// Queries, keys or values, or gradients of them: their heads, and where they lie in a token's packed row.
    struct Part {
        std::uint32_t heads;
        std::uint64_t first;
        Table spread, order, back;
    };
    [[nodiscard]] std::array<Part, 3> parts() const {
        using enum Table;
        return {Part{s_.heads, 0, spread_queries, order_queries, return_queries},
                Part{s_.kv_heads, s_.heads, spread_keys, order_keys, return_keys},
                Part{s_.kv_heads, std::uint64_t{s_.heads} + s_.kv_heads, spread_keys, order_keys, return_keys}};
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
    void heads_forward();
    void heads_backward();

    LayerStream& stream_;
    const AttentionShape& s_;
    Piece& piece_;
    std::uint32_t ranks_;
    ValueId packed_, result_;         ///< what the piece takes, and what it leaves
    std::array<View, 5> attended_{};  ///< of exchanged heads: queries, keys, values, results, log-sum-exps
};

/// Step 0 is over a rank's own keys. Of the others, rank r sees in r steps the first part of another's keys with all of
/// its queries, and else all keys with the second part of its queries. Without a mask every step is over all.
Attention ContextSharder::step(bool backward, std::uint32_t number) const {
    if (number == 0) return kernel(backward, s_.seq, s_.seq, s_.causal);
    if (!s_.causal) return kernel(backward, s_.seq, s_.seq, false);
    return number % 2 == 1 ? kernel(backward, s_.seq, s_.seq / 2, false) : kernel(backward, s_.seq / 2, s_.seq, false);
}

/// Exchange k brings the keys and values of step k, and waits for the kernel of step k - 3: two streams take turns.
void ContextSharder::ring_forward() {
    constexpr std::uint32_t ahead = 2;
    const auto flag = [](std::uint32_t k) { return static_cast<std::uint8_t>(1U << (k % (ahead + 1))); };
    List& list = piece_.forward;
    const auto send = [&](std::uint32_t k) {
        if (k < ranks_) exchange(list, "pass keys and values on", CollectiveKind::send_recv, s_.kv_bytes(), flag(k));
    };
    for (std::uint32_t k = 1; k <= ahead; ++k) send(k);
    for (std::uint32_t k = 0; k < ranks_; ++k) {
        Work attention{.name = "attention", .what = step(false, k)};
        if (k > 0) attention.needs = flag(k);
        list.push_back(std::move(attention));
        if (k > 0)
            list.push_back({"log-sum-exp correction",
                            kernels::Pointwise{PointwiseKind::add, kernels::Dtype::fp32, s_.tokens(), s_.heads}});
        send(k + ahead + 1);
    }
    const std::uint64_t width = s_.result_row();
    for (std::uint32_t k = 0; k < ranks_; ++k)
        pass(list, "correct and add", PointwiseKind::add, s_.tokens() * (k > 0 && k % 2 == 0 && s_.causal ? 1 : 2) / 2,
             width);
}

/// Exchange k, beside step k, brings the keys and values of step k + 1 and the sum of gradients that the rank before
/// has formed of those of step k. The last step's keys are a rank's own, and so are the gradients that it ends with.
void ContextSharder::ring_backward() {
    List& list = piece_.backward;
    const std::uint64_t width = std::uint64_t{s_.heads} * s_.head_dim;
    const auto flag = [](std::uint32_t k) { return static_cast<std::uint8_t>(1U << (k % 2)); };
    for (std::uint32_t k = 0; k < ranks_; ++k) {
        const bool more = k + 1 < ranks_, sums = k > 0;
        exchange(list, "pass keys and their gradients on", CollectiveKind::send_recv,
                 s_.kv_bytes() * ((more ? 1U : 0U) + (sums ? 1U : 0U)), flag(k));
        Work attention{.name = "attention backward", .what = step(true, ranks_ - 1 - k)};
        if (k == 1) attention.needs = flag(0);  // else the sum before has waited for it
        list.push_back(std::move(attention));
        if (!sums) continue;
        pass(list, "add query gradients", PointwiseKind::add, s_.tokens(), width);
        pass(list, "add key gradients", PointwiseKind::add, s_.tokens(), s_.kv_row());
        list.back().needs = flag(k);
    }
}

/// Ring attention (Liu et al. 2023, arXiv:2310.01889), with a result for each step until all are there.
void ContextSharder::ring() {
    ring_forward();
    ring_backward();
    piece_.saved_bytes = s_.qkv_bytes() + s_.lse_bytes();
    piece_.working_bytes = s_.qkv_bytes() + 2 * s_.kv_bytes() + ranks_ * s_.result_bytes();
}

/// Llama 3 (arXiv:2407.21783, section 3.3.2): keys and values are gathered, in the backward once more; each of a rank's
/// two parts of queries sees the keys up to its own.
void ContextSharder::gathered() {
    const std::uint64_t all_keys = s_.kv_bytes() / 2 * ranks_;
    const std::uint32_t whole = s_.seq * ranks_, part = s_.seq / 2;
    const auto gather = [&](List& list) {
        for (const char* name : {"gather keys", "gather values"}) {
            exchange(list, name, CollectiveKind::all_gather, all_keys);
            copy(list, "order parts", s_.kv_heads, true);
        }
    };
    const auto attend = [&](List& list, const char* name, bool backward) {
        if (!s_.causal) return list.push_back({name, kernel(backward, s_.seq, whole, false)});
        list.push_back({name, kernel(backward, part, part, true)});
        list.push_back({name, kernel(backward, part, whole, true)});
    };
    gather(piece_.forward);
    attend(piece_.forward, "attention", false);
    gather(piece_.backward);
    attend(piece_.backward, "attention backward", true);
    if (s_.causal) pass(piece_.backward, "add key gradients", PointwiseKind::add, s_.tokens() * ranks_, s_.kv_row());
    for (const char* name : {"scatter key gradients", "scatter value gradients"}) {
        copy(piece_.backward, "order parts", s_.kv_heads, true);
        exchange(piece_.backward, name, CollectiveKind::reduce_scatter, all_keys);
    }
    piece_.saved_bytes = s_.qkv_bytes() + s_.lse_bytes();
    piece_.working_bytes = s_.result_bytes() + 2 * s_.kv_bytes() * ranks_;
}

/// A copy that is priced as what it moves, and launched as a look-up of rows.
void ContextSharder::look_up(List& list, const char* name, std::uint64_t heads, View table, View from, View to) const {
    copy(list, name, heads);
    Launch launch;
    launch.settings.table_rows = (stream_.flow.value(from.value).elements - from.offset) / s_.head_dim;
    launch.kernel = stream_.pointwise(PointwiseKind::embedding, rows(heads), s_.head_dim);
    list.back().detail = {{table, from, to}, launch};
}

void ContextSharder::heads_forward() {
    List& list = piece_.forward;
    std::size_t number = 0;
    for (const Part& part : parts()) {
        const View sent = fresh(part.heads, false), whole = fresh(part.heads, false);
        look_up(list, "order heads", part.heads, table(part.spread, part.heads), {packed_, part.first * s_.head_dim},
                sent);
        const View arrived = exchanged(list, "exchange heads", part.heads, sent, fresh(part.heads, false));
        look_up(list, "order tokens", part.heads, table(part.order, part.heads), arrived, whole);
        attended_[number++] = whole;
    }
    attended_[3] = fresh(s_.heads, false);
    attended_[4] = {stream_.flow.activation(kernels::Format::fp32, rows(s_.heads))};
    list.push_back({.name = "attention", .what = core(false), .detail = {{attended_.begin(), attended_.end()}}});
    const View sent = fresh(s_.heads, false);
    look_up(list, "order heads", s_.heads, table(Table::return_queries, s_.heads), attended_[3], sent);
    const View arrived = exchanged(list, "exchange results", s_.heads, sent, fresh(s_.heads, false));
    look_up(list, "order tokens", s_.heads, table(Table::join_results, s_.heads), arrived, {result_});
}

/// The copies that leave a packed row in its place come last: each has some of its heads.
void ContextSharder::heads_backward() {
    List& list = piece_.backward;
    const View sent = fresh(s_.heads, true), whole = fresh(s_.heads, true);
    look_up(list, "order heads", s_.heads, table(Table::spread_results, s_.heads), {stream_.flow.gradient_of(result_)},
            sent);
    const View arrived = exchanged(list, "exchange result gradients", s_.heads, sent, fresh(s_.heads, true));
    look_up(list, "order tokens", s_.heads, table(Table::order_queries, s_.heads), arrived, whole);
    std::vector<View> operands(attended_.begin(), attended_.end());
    operands.push_back(whole);
    std::vector<View> gradients;
    for (const Part& part : parts()) gradients.push_back(fresh(part.heads, true));
    operands.insert(operands.end(), gradients.begin(), gradients.end());
    list.push_back({.name = "attention backward", .what = core(true), .detail = {std::move(operands)}});

    const View all = fresh(packed_heads(), true);
    std::size_t number = 0;
    for (const Part& part : parts()) {
        const View leaving = fresh(part.heads, true);
        look_up(list, "order heads", part.heads, table(part.back, part.heads), gradients[number++], leaving);
        exchanged(list, "exchange gradients", part.heads, leaving, {all.value, elements(part.first)});
    }
    const View places = table(Table::join_packed, packed_heads());
    for (const Part& part : parts())
        look_up(list, "order tokens", part.heads, {places.value, rows(part.first)}, all,
                {stream_.flow.gradient_of(packed_), elements(part.first)});
}

/// DeepSpeed-Ulysses (Jacobs et al. 2023, arXiv:2309.14509): each rank has all tokens of its share of the heads while
/// attention runs, and brings results back. A copy makes the parts that leave contiguous, another orders what came.
void ContextSharder::by_heads() {
    heads_forward();
    heads_backward();
    piece_.saved_bytes = s_.qkv_bytes() + s_.result_bytes() + s_.lse_bytes();  // as the kernel took them
    piece_.working_bytes = 2 * s_.qkv_bytes();
}

}  // namespace

void shard_over_context(LayerStream& stream, const AttentionShape& shape, Piece& piece) {
    ContextSharder sharder(stream, shape, piece);
    switch (stream.plan.strategy.context_exchange) {
        case ContextExchange::p2p: sharder.ring(); break;
        case ContextExchange::all_gather: sharder.gathered(); break;
        case ContextExchange::a2a: sharder.by_heads(); break;
    }
}

}  // namespace orrery::strategies
