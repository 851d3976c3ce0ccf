// Attention over sequences that context ranks share, as TransformerEngine runs it
// (pytorch/attention/dot_product_attention/context_parallel.py). A causal sequence is cut into 2 C parts and rank r of
// C holds parts r and 2 C - 1 - r, so that all ranks have as much to do. One program stands for all ranks: where they
// differ in shapes, not in work, it has those of a rank in the middle.
//
// Priced, not yet executed: its works have no operands.
#include "strategies/partition/attention.hpp"

namespace orrery::strategies {

namespace {

using kernels::Attention;
using kernels::CollectiveKind;
using kernels::PointwiseKind;

class ContextSharder {
public:
    ContextSharder(LayerStream& stream, const AttentionShape& shape, Piece& piece)
        : stream_(stream), s_(shape), piece_(piece), ranks_(stream.plan.strategy.context) {}

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

    LayerStream& stream_;
    const AttentionShape& s_;
    Piece& piece_;
    std::uint32_t ranks_;
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

/// DeepSpeed-Ulysses (Jacobs et al. 2023, arXiv:2309.14509): each rank has all tokens of its share of the heads while
/// attention runs, and brings results back. A copy makes the parts that leave contiguous, another orders what came.
void ContextSharder::by_heads() {
    const auto move = [&](List& list, const char* name, std::uint32_t heads) {
        copy(list, "order heads", heads);
        exchange(list, name, CollectiveKind::all_to_all, s_.tokens() * heads * s_.kernel_dim() * s_.element_bytes);
        copy(list, "order tokens", heads);
    };
    const auto move_inputs = [&](List& list, const char* name) {
        for (const std::uint32_t heads : {s_.heads, s_.kv_heads, s_.kv_heads}) move(list, name, heads);
    };
    const auto core = [&](bool backward) {
        Attention a = kernel(backward, s_.seq * ranks_, s_.seq * ranks_, s_.causal);
        a.heads /= ranks_;
        a.kv_heads /= ranks_;
        return a;
    };
    move_inputs(piece_.forward, "exchange heads");
    piece_.forward.push_back({"attention", core(false)});
    move(piece_.forward, "exchange results", s_.heads);
    move(piece_.backward, "exchange result gradients", s_.heads);
    piece_.backward.push_back({"attention backward", core(true)});
    move_inputs(piece_.backward, "exchange gradients");
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
    stream.value = stream.activation(shape.tokens() * shape.result_row());
}

}  // namespace orrery::strategies
