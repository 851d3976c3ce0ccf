// A ring as torch.distributed.tensor has it (experimental/_context_parallel/_attention.py, _templated_ring_attention
// and its backward), for FlashAttention as for cuDNN's: a kernel a step, whose results PyTorch's operators merge in
// fp32 at once, and whose gradients they add in fp32. Keys and values are gathered ("allgather"), or passed on;
// gradients of keys and values are passed on in either case. Two parts of a sequence a rank, as in ring.cpp.
#include "strategies/compiled.hpp"
#include "strategies/partition/context.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::Dtype;
using kernels::PointwiseKind;

class TemplatedRing : ContextSharder {
public:
    TemplatedRing(LayerStream& stream, const SharedCore& core, Piece& piece, bool gathers)
        : ContextSharder(stream, core, piece), gathers_(gathers), compiled_(is_compiled(stream.plan.training)) {}

    void shard() {
        forward();
        backward();
        const std::uint64_t arrived = gathers_ ? ranks_ : 2;
        constexpr std::uint64_t wide_results = 3;  // the sum so far, a step's, and their difference
        piece_.saved_bytes = s_.qkv_bytes() + s_.lse_bytes();
        piece_.working_bytes =
            s_.qkv_bytes() + arrived * s_.kv_bytes() + wide_results * s_.tokens() * s_.result_row() * sizeof(float);
        stream_.layer.flow.complete = false;
    }

private:
    static constexpr std::uint8_t gradients_flag = 4;

    /// Of the exchange that brings a step's keys and values: those gathered are there for all steps behind the first.
    [[nodiscard]] std::uint8_t keys_flag(std::uint32_t step) const {
        if (step == 0 || (gathers_ && step > 1)) return 0;
        return static_cast<std::uint8_t>(1U << (step % 2));
    }
    void send_keys(List& list, std::uint32_t step);
    void forward();
    void merge(std::uint32_t step);
    void merge_log_sum_exps(std::uint32_t step);
    void backward();
    void sum_key_gradients(std::uint32_t step);
    void update(List& list, const char* name, std::uint64_t cols, bool half, std::uint8_t needs = 0) const;

    /// Every second step is over all queries and the first part of the keys, the others over the second part of the
    /// queries and all keys: a rank in the middle has as many of each.
    [[nodiscard]] bool of_first_keys(std::uint32_t step) const { return s_.causal && step % 2 == 1; }
    [[nodiscard]] bool of_second_queries(std::uint32_t step) const { return s_.causal && step > 0 && step % 2 == 0; }
    [[nodiscard]] kernels::Attention priced(bool backward, std::uint32_t step) const {
        return kernel(backward, of_second_queries(step) ? s_.seq / 2 : s_.seq,
                      of_first_keys(step) ? s_.seq / 2 : s_.seq, s_.causal && step == 0);
    }
    void wide(List& list, const char* name, PointwiseKind kind, std::uint64_t rows, std::uint64_t cols,
              std::uint8_t needs = 0) const {
        list.push_back({.name = name, .what = kernels::Pointwise{kind, Dtype::fp32, rows, cols}, .needs = needs});
    }
    /// Between fp32 and 16 bits.
    void cast(List& list, const char* name, std::uint64_t cols, std::uint8_t needs = 0) const {
        list.push_back(
            {.name = name, .what = stream_.pointwise(PointwiseKind::cast, s_.tokens(), cols), .needs = needs});
    }

    bool gathers_, compiled_;
};

/// Each step but the last joins the keys and values at hand, whether they leave or, once gathered, do not; what nobody
/// takes torch.compile leaves out.
void TemplatedRing::send_keys(List& list, std::uint32_t step) {
    if (step + 1 == ranks_) return;
    const bool leaves = !gathers_ || step == 0;
    if (leaves || !compiled_) {
        pass(list, "join keys and values", PointwiseKind::transpose, s_.tokens(), s_.kv_row());
        list.back().needs = keys_flag(step);
    }
    if (!leaves) return;
    gathers_ ? exchange(list, "gather keys and values", CollectiveKind::all_gather, s_.kv_bytes() * ranks_,
                        keys_flag(step + 1))
             : exchange(list, "pass keys and values on", CollectiveKind::send_recv, s_.kv_bytes(), keys_flag(step + 1));
}

void TemplatedRing::forward() {
    List& list = piece_.forward;
    for (std::uint32_t step = 0; step < ranks_; ++step) {
        send_keys(list, step);
        list.push_back({.name = "attention", .what = priced(false, step), .needs = keys_flag(step)});
        if (!compiled_) cast(list, "widen results", s_.result_row());
        if (step > 0) merge(step);
    }
    if (!compiled_) cast(list, "round results", s_.result_row());
}

/// fp32 sums of 16-bit addends. Of half the rows the others are copied (_partial_update); torch.compile has one kernel
/// of both, which reads and writes all rows.
void TemplatedRing::update(List& list, const char* name, std::uint64_t cols, bool half, std::uint8_t needs) const {
    if (compiled_) return wide(list, name, half ? PointwiseKind::scale : PointwiseKind::add, s_.tokens(), cols, needs);
    wide(list, name, PointwiseKind::add, half ? s_.tokens() / 2 : s_.tokens(), cols, needs);
    if (half) wide(list, "join rows", PointwiseKind::scale, s_.tokens(), cols);
}

/// out - sigmoid(step's lse - lse) (out - step's out): by operators a difference, a product and a difference.
void TemplatedRing::merge(std::uint32_t step) {
    List& list = piece_.forward;
    const bool half = of_second_queries(step);
    const std::uint64_t tokens = half ? s_.tokens() / 2 : s_.tokens();
    if (!compiled_) {
        wide(list, "difference of results", PointwiseKind::add, tokens, s_.result_row());
        wide(list, "weigh difference", PointwiseKind::scale, tokens, s_.result_row());
    }
    update(list, "merge results", s_.result_row(), half);
    merge_log_sum_exps(step);
}

/// lse - logsigmoid(lse - step's lse), and the sigmoid of the other difference.
void TemplatedRing::merge_log_sum_exps(std::uint32_t step) {
    List& list = piece_.forward;
    const bool half = of_second_queries(step);
    if (!compiled_)
        for (const PointwiseKind kind :
             {PointwiseKind::add, PointwiseKind::scale, PointwiseKind::add, PointwiseKind::scale})
            wide(list, "log-sum-exp correction", kind, half ? s_.tokens() / 2 : s_.tokens(), s_.heads);
    update(list, "log-sum-exp correction", s_.heads, half);
}

void TemplatedRing::backward() {
    List& list = piece_.backward;
    if (!compiled_) {
        wide(list, "fill query gradients", PointwiseKind::fill, s_.tokens(), s_.query_row());
        wide(list, "fill key gradients", PointwiseKind::fill, s_.tokens(), s_.kv_row());
    }
    for (std::uint32_t step = 0; step < ranks_; ++step) {
        send_keys(list, step);
        list.push_back({.name = "attention backward", .what = priced(true, step), .needs = keys_flag(step)});
        sum_key_gradients(step);
        update(list, "add query gradients", s_.query_row(), of_second_queries(step));
    }
    if (!compiled_) cast(list, "round query gradients", s_.query_row());
    cast(list, "round key gradients", s_.kv_row(), gradients_flag);
}

/// Added to what came from the rank before, joined and sent on: those of a rank's own keys come home with the last.
void TemplatedRing::sum_key_gradients(std::uint32_t step) {
    List& list = piece_.backward;
    update(list, "add key gradients", s_.kv_row(), of_first_keys(step), step > 0 ? gradients_flag : std::uint8_t{0});
    if (!compiled_) wide(list, "join key gradients", PointwiseKind::scale, s_.tokens(), s_.kv_row());
    exchange(list, "pass key gradients on", CollectiveKind::send_recv, s_.tokens() * s_.kv_row() * sizeof(float),
             gradients_flag);
}

}  // namespace

void shard_as_templated_ring(LayerStream& stream, const SharedCore& core, Piece& piece, bool gathers) {
    TemplatedRing(stream, core, piece, gathers).shard();
}

}  // namespace orrery::strategies
