#include <vector>

#include "kernels/reference/parts.hpp"

namespace orrery::kernels {

namespace {

/// Where the rows of one (batch, query head) lie, and how far a query sees.
class Head {
public:
    Head(const Attention& a, std::uint64_t batch, std::uint64_t head)
        : a_(a), batch_(batch), head_(head), kv_head_(head / (a.heads / a.kv_heads)) {}

    [[nodiscard]] std::uint64_t query(std::uint64_t i) const {
        return ((batch_ * a_.seq + i) * a_.heads + head_) * a_.head_dim;
    }
    [[nodiscard]] std::uint64_t key(std::uint64_t j) const {
        return ((batch_ * a_.keys() + j) * a_.kv_heads + kv_head_) * a_.head_dim;
    }
    [[nodiscard]] std::uint64_t lse(std::uint64_t i) const { return (batch_ * a_.heads + head_) * a_.seq + i; }
    [[nodiscard]] bool sees(std::uint64_t i, std::uint64_t j) const {
        return a_.first_key(i) <= j && j < a_.end_key(i);
    }

    [[nodiscard]] double dot(const Values& x, std::uint64_t at, const Values& y, std::uint64_t with) const {
        return sum(a_.head_dim, [&](std::uint64_t d) { return x[at + d] * y[with + d]; });
    }
    /// How large the terms of such a product are.
    [[nodiscard]] double size(const Values& x, std::uint64_t at, const Values& y, std::uint64_t with) const {
        return root_of_squares(a_.head_dim, [&](std::uint64_t d) { return x[at + d] * y[with + d]; });
    }
    [[nodiscard]] double score(Before v, std::uint64_t i, std::uint64_t j) const {
        return dot(v[0], query(i), v[1], key(j)) * scale();
    }
    [[nodiscard]] double scale() const { return 1.0 / std::sqrt(static_cast<double>(a_.head_dim)); }

private:
    const Attention& a_;
    std::uint64_t batch_, head_, kv_head_;
};

double forward(const Attention& a, Before v, std::size_t operand, std::uint64_t index) {
    const bool wants_lse = operand == 4;
    const std::uint64_t row = wants_lse ? index : index / a.head_dim, d = wants_lse ? 0 : index % a.head_dim;
    // o is [batch, seq, heads, head_dim], lse is [batch, heads, seq].
    const std::uint64_t batch = row / (std::uint64_t{a.seq} * a.heads);
    const std::uint64_t i = wants_lse ? row % a.seq : row / a.heads % a.seq;
    const Head head(a, batch, wants_lse ? row / a.seq % a.heads : row % a.heads);
    const std::uint64_t first = a.first_key(i);
    std::vector<double> scores(a.end_key(i) - first);
    for (std::uint64_t j = 0; j < scores.size(); ++j) scores[j] = head.score(v, i, first + j);
    const double lse = log_sum_exp(scores.size(), [&](std::uint64_t j) { return scores[j]; });
    if (wants_lse) return lse;
    return sum(scores.size(),
               [&](std::uint64_t j) { return std::exp(scores[j] - lse) * v[2][head.key(first + j) + d]; });
}

/// Operands of the backward: q k v o lse do -> dq dk dv.
struct Pair {
    double p, ds;  ///< probability, and gradient of the scaled score
};

Pair pair(const Head& head, Before v, std::uint64_t i, std::uint64_t j) {
    const double p = std::exp(head.score(v, i, j) - v[4][head.lse(i)]);
    const double dp = head.dot(v[5], head.query(i), v[2], head.key(j));
    return {p, p * (dp - head.dot(v[5], head.query(i), v[3], head.query(i)))};
}

/// How large the two terms of ds are.
double size_of_ds(const Head& head, Before v, std::uint64_t i, std::uint64_t j) {
    const std::uint64_t query = head.query(i);
    return std::exp(head.score(v, i, j) - v[4][head.lse(i)]) *
           (head.size(v[5], query, v[2], head.key(j)) + head.size(v[5], query, v[3], query));
}

double backward(const Attention& a, Before v, std::size_t operand, std::uint64_t index) {
    const bool of_query = operand == 6;
    const std::uint64_t d = index % a.head_dim, row = index / a.head_dim, heads = of_query ? a.heads : a.kv_heads;
    const std::uint64_t length = of_query ? a.seq : a.keys(), batch = row / heads / length, at = row / heads % length;
    if (of_query) {
        const Head head(a, batch, row % heads);
        const std::uint64_t first = a.first_key(at);
        return head.scale() * sum(a.end_key(at) - first, [&](std::uint64_t j) {
                   return pair(head, v, at, first + j).ds * v[1][head.key(first + j) + d];
               });
    }
    const std::uint64_t group = a.heads / a.kv_heads;
    return sum(group, [&](std::uint64_t member) {
        const Head head(a, batch, row % heads * group + member);
        return sum(a.seq, [&](std::uint64_t i) {
            if (!head.sees(i, at)) return 0.0;
            const std::uint64_t from = head.query(i) + d;
            const Pair both = pair(head, v, i, at);
            return operand == 7 ? head.scale() * both.ds * v[0][from] : both.p * v[5][from];
        });
    });
}

/// Of dq = scale ds k and dk = scale ds^T q.
double magnitude_of_backward(const Attention& a, Before v, bool of_query, std::uint64_t index) {
    const std::uint64_t d = index % a.head_dim, row = index / a.head_dim, heads = of_query ? a.heads : a.kv_heads;
    const std::uint64_t length = of_query ? a.seq : a.keys(), batch = row / heads / length, at = row / heads % length;
    if (of_query) {
        const Head head(a, batch, row % heads);
        const std::uint64_t first = a.first_key(at);
        return head.scale() * root_of_squares(a.end_key(at) - first, [&](std::uint64_t j) {
                   return size_of_ds(head, v, at, first + j) * v[1][head.key(first + j) + d];
               });
    }
    const std::uint64_t group = a.heads / a.kv_heads;
    return root_of_squares(group, [&](std::uint64_t member) {
        const Head head(a, batch, row % heads * group + member);
        return head.scale() * root_of_squares(a.seq, [&](std::uint64_t i) {
                   return head.sees(i, at) ? size_of_ds(head, v, i, at) * v[0][head.query(i) + d] : 0.0;
               });
    });
}

}  // namespace

double magnitude_attention(const Attention& a, Before v, std::size_t operand, std::uint64_t index) {
    const bool cancels = a.backward && (operand == 6 || operand == 7);
    return cancels ? magnitude_of_backward(a, v, operand == 6, index) : 0.0;
}

double reference_attention(const Attention& a, Before v, std::size_t operand, std::uint64_t index) {
    return a.backward ? backward(a, v, operand, index) : forward(a, v, operand, index);
}

}  // namespace orrery::kernels
