// Ring attention (Liu et al. 2023, arXiv:2310.01889), with a result for each step until all are there.
//
// Keys and values go to the next rank, in both directions: in step k of the forward a rank has those of the rank k
// before it. The backward begins with those of the rank just before, which the forward's first exchange has brought,
// and ends with its own: the sum of their gradients is passed on behind them and so comes home with the last exchange,
// after as many messages as TransformerEngine's, which turns the ring around and begins with what the forward had last.
#include "strategies/partition/context.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::PointwiseKind;

class RingSharder : ContextSharder {
public:
    RingSharder(LayerStream& stream, const SharedCore& core, Piece& piece) : ContextSharder(stream, core, piece) {}

    void shard() {
        if (executable()) take_tensors();
        forward();
        backward();
        piece_.saved_bytes = s_.qkv_bytes() + s_.lse_bytes();
        piece_.working_bytes = s_.qkv_bytes() + 2 * s_.kv_bytes() + ranks_ * s_.result_bytes();
    }

private:
    [[nodiscard]] kernels::Attention priced(bool backward, std::uint32_t number) const;
    void take_tensors();
    void forward();
    void merge(std::uint32_t number);
    void backward();
    void backward_step(std::uint32_t k);
    void pass_back(std::uint32_t k, std::uint8_t raises);
    void sum_gradients(std::uint32_t k, std::uint8_t needs);

    [[nodiscard]] std::uint64_t kv() const { return s_.tokens() * s_.kv_row(); }
    /// Whose keys and values the backward's step k is over: of the rank so many before.
    [[nodiscard]] std::uint32_t number_of(std::uint32_t k) const { return (k + 1) % ranks_; }
    /// A rank's own keys, in its packed rows, or those that a tensor holds from an element on.
    [[nodiscard]] std::vector<View> own_keys() const {
        return {{packed_, s_.query_row()}, {packed_, s_.query_row() + keys_width()}};
    }
    [[nodiscard]] std::vector<View> keys_in(ValueId tensor, std::uint64_t from = 0) const {
        return {{tensor, from}, {tensor, from + keys_width()}};
    }
    [[nodiscard]] Launch step(std::uint32_t number, std::uint64_t key_stride) const {
        return shared(SharedSequences::Step::ring, number, key_stride);
    }
    /// Gradients of own queries, or of own keys and values, in their packed rows.
    [[nodiscard]] View packed_gradient(bool of_keys) const {
        const ValueId all = stream_.flow.gradient_of(packed_);
        return of_keys ? View{all, s_.query_row(), s_.kv_row(), s_.row()} : View{all, 0, s_.query_row(), s_.row()};
    }

    std::vector<ValueId> keys_;           ///< that forward exchanges bring, by the step that takes them; none: its own
    std::vector<ValueId> parts_, lses_;   ///< of each forward step
    ValueId lse_ = no_value;              ///< over all keys
    ValueId query_gradients_ = no_value;  ///< their sum
    /// What the backward's exchanges bring: the next step's keys and values and, behind them, the sum of gradients of
    /// this step's; the last that sum alone.
    std::vector<ValueId> arrived_;
};

/// Step 0 is over a rank's own keys. Of the others, rank r sees in r steps the first part of another's keys with all of
/// its queries, and else all keys with the second part of its queries. Without a mask every step is over all. Priced as
/// a rank in the middle has them.
kernels::Attention RingSharder::priced(bool backward, std::uint32_t number) const {
    if (number == 0) return kernel(backward, s_.seq, s_.seq, s_.causal);
    if (!s_.causal) return kernel(backward, s_.seq, s_.seq, false);
    return number % 2 == 1 ? kernel(backward, s_.seq, s_.seq / 2, false) : kernel(backward, s_.seq / 2, s_.seq, false);
}

void RingSharder::take_tensors() {
    auto& flow = stream_.flow;
    const std::uint64_t rows = s_.tokens() * s_.result_row();
    for (std::uint32_t k = 0; k < ranks_; ++k) {
        keys_.push_back(k == 0 ? no_value : stream_.activation(kv()));
        parts_.push_back(stream_.activation(rows));
        lses_.push_back(log_sum_exps());
        arrived_.push_back(flow.gradient(stream_.format(), k + 1 < ranks_ ? 2 * kv() : kv()));
    }
    lse_ = log_sum_exps();
    query_gradients_ = flow.gradient(stream_.format(), s_.tokens() * s_.query_row());
}

/// Exchange k brings the keys and values of step k, and waits for the kernel of step k - 3: two streams take turns.
void RingSharder::forward() {
    constexpr std::uint32_t ahead = 2;
    const auto flag = [](std::uint32_t k) { return static_cast<std::uint8_t>(1U << (k % (ahead + 1))); };
    List& list = piece_.forward;
    const auto send = [&](std::uint32_t k) {
        if (k >= ranks_) return;
        exchange(list, "pass keys and values on", CollectiveKind::send_recv, s_.kv_bytes(), flag(k));
        const View own{packed_, s_.query_row(), s_.kv_row(), s_.row()};
        if (executable()) list.back().detail = {{k == 1 ? own : View{keys_[k - 1]}, {keys_[k]}}};
    };
    for (std::uint32_t k = 1; k <= ahead; ++k) send(k);
    for (std::uint32_t k = 0; k < ranks_; ++k) {
        Work attention{.name = "attention", .what = priced(false, k)};
        if (executable()) {
            const std::vector<View> keys = k == 0 ? own_keys() : keys_in(keys_[k]);
            attention.detail = {{{packed_}, keys[0], keys[1], {parts_[k]}, {lses_[k]}},
                                step(k, k == 0 ? 0 : s_.kv_row())};
        }
        if (k > 0) attention.needs = flag(k);
        list.push_back(std::move(attention));
        if (k > 0) {
            list.push_back({"log-sum-exp correction", kernels::Pointwise{PointwiseKind::log_add_exp,
                                                                         kernels::Dtype::fp32, s_.tokens(), s_.heads}});
            if (executable()) {
                Launch launch = step(k, 0);
                launch.settings.row_stride = s_.seq;
                if (k == 1) launch.begins = {lses_[0]};
                list.back().detail = {{{k == 1 ? lses_[0] : lse_}, {lses_[k]}, {lse_}}, launch};
            }
        }
        send(k + ahead + 1);
    }
    for (std::uint32_t k = 0; k < ranks_; ++k) merge(k);
}

void RingSharder::merge(std::uint32_t number) {
    const bool half = number > 0 && number % 2 == 0 && s_.causal;
    pass(piece_.forward, "correct and add", PointwiseKind::softmax_merge, half ? s_.tokens() / 2 : s_.tokens(),
         s_.result_row());
    if (!executable()) return;
    Launch launch = step(number, 0);
    launch.settings.head = s_.head_dim;
    launch.settings.positions = s_.seq;
    launch.zeroed = number == 0 ? 1U << 3U : 0U;
    piece_.forward.back().detail = {{{parts_[number]}, {lses_[number]}, {lse_}, {result_}}, launch};
}

/// Exchange k, beside step k, brings the keys and values of step k + 1 and the sum of gradients that other ranks have
/// formed of those of step k. The last step's keys are a rank's own, and so are the gradients that it ends with.
void RingSharder::backward() {
    const auto flag = [](std::uint32_t k) { return static_cast<std::uint8_t>(1U << (k % 2)); };
    for (std::uint32_t k = 0; k < ranks_; ++k) {
        pass_back(k, flag(k));
        backward_step(k);
        if (k == 1) piece_.backward.back().needs = flag(0);  // else the sum before has waited for it
        if (k > 0) sum_gradients(k, flag(k));
    }
}

void RingSharder::pass_back(std::uint32_t k, std::uint8_t raises) {
    const bool more = k + 1 < ranks_, sums = k > 0;
    exchange(piece_.backward, "pass keys and their gradients on", CollectiveKind::send_recv,
             s_.kv_bytes() * ((more ? 1U : 0U) + (sums ? 1U : 0U)), raises);
    if (!executable()) return;
    const View sent = !sums ? View{keys_[1]} : View{arrived_[k - 1], more ? 0 : kv()};
    piece_.backward.back().detail = {{sent, {arrived_[k]}}};
}

/// The first step forms the sums, the others what is added to them.
void RingSharder::backward_step(std::uint32_t k) {
    piece_.backward.push_back({.name = "attention backward", .what = priced(true, ranks_ - 1 - k)});
    if (!executable()) return;
    const std::vector<View> keys = keys_in(k == 0 ? keys_[1] : arrived_[k - 1]);
    Launch launch = step(number_of(k), s_.kv_row());
    launch.settings.dq_stride = s_.query_row();
    ValueId queries = query_gradients_, to = arrived_[k];
    if (k == 0) {
        launch.zeroed = 7U << 6U;
    } else {
        queries = stream_.flow.gradient(stream_.format(), s_.tokens() * s_.query_row());
        to = stream_.flow.gradient(stream_.format(), kv());
    }
    const std::vector<View> gradients = keys_in(to, k == 0 ? kv() : 0);
    piece_.backward.back().detail = {{{packed_},
                                      keys[0],
                                      keys[1],
                                      {result_},
                                      {lse_},
                                      {stream_.flow.gradient_of(result_)},
                                      {queries},
                                      gradients[0],
                                      gradients[1]},
                                     launch};
}

void RingSharder::sum_gradients(std::uint32_t k, std::uint8_t needs) {
    const std::vector<View> formed = piece_.backward.back().detail.operands;
    const bool last = k + 1 == ranks_;
    List& list = piece_.backward;
    for (const bool of_keys : {false, true}) {
        pass(list, of_keys ? "add key gradients" : "add query gradients", PointwiseKind::add, s_.tokens(),
             of_keys ? s_.kv_row() : s_.query_row());
        if (of_keys) list.back().needs = needs;
        if (!executable()) continue;
        const View sum = !of_keys ? View{query_gradients_} : View{arrived_[k], last ? 0 : kv()};
        Launch launch = step(number_of(k), 0);
        launch.settings = {};
        launch.shared.of_keys = of_keys;
        list.back().detail = {{sum, formed[of_keys ? 7 : 6], last ? packed_gradient(of_keys) : sum}, launch};
    }
}

}  // namespace

void shard_as_ring(LayerStream& stream, const SharedCore& core, Piece& piece) {
    RingSharder(stream, core, piece).shard();
}

}  // namespace orrery::strategies
