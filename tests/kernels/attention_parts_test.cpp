// Attention over parts of the keys, put together by its log-sum-exps, is attention over all of them.
#include "tests/kernels/on_device.hpp"

namespace orrery::kernels::settings_checks {
namespace {

constexpr std::uint32_t queries = 6, keys = 10, heads = 4, kv_heads = 2, dim = 8;
constexpr std::size_t wide = heads * dim, narrow = kv_heads * dim;

Attention over_keys(bool backward, std::uint32_t rows, std::uint32_t seen) {
    Attention a{Dtype::fp32, backward, false, 1, rows, heads, kv_heads, dim};
    a.key_seq = seen;
    return a;
}

Doubles doubles(const Floats& values) { return {values.begin(), values.end()}; }

class AttentionInParts : public testing::Test {
protected:
    /// Keys and values of a token lie next to each other.
    static Settings strides() {
        Settings settings;
        settings.key_stride = 2 * narrow;
        settings.lse_stride = queries;
        return settings;
    }
    /// Queries [first, queries) and keys [from, to) of all: as one rank sees those of another.
    void forward(std::uint32_t first, std::uint32_t from, std::uint32_t to, const OnDevice<float>& o,
                 const OnDevice<float>& lse) {
        float* const k = kv_.at(from * 2 * narrow);
        launch(*device_, over_keys(false, queries - first, to - from),
               {q_.at(first * wide), k, k + narrow, o.at(first * wide), lse.at(first)}, strides());
    }

    std::unique_ptr<Device> device_ = open_device("cpu");
    OnDevice<float> q_{*device_, normal(queries*wide, seed)}, kv_{*device_, normal(keys * 2 * narrow, seed + 1)};
    OnDevice<float> do_{*device_, normal(queries* wide, seed + 2)};
    OnDevice<float> o_{*device_, Floats(queries*wide)}, lse_{*device_, Floats(heads*queries)};
};

/// The first three keys are seen by the second half of the queries alone.
TEST_F(AttentionInParts, MergesToTheWhole) {
    const OnDevice<float> late_o(*device_, Floats(queries * wide)), late_lse(*device_, Floats(heads * queries));
    const OnDevice<float> some_o(*device_, Floats(queries * wide)), some_lse(*device_, Floats(heads * queries));
    forward(0, 3, keys, some_o, some_lse);
    const Floats alone = some_o.back();
    forward(queries / 2, 0, 3, late_o, late_lse);
    const OnDevice<float> sums(*device_, some_lse.back()), merged(*device_, Floats(queries * wide));
    Settings half;
    half.row_stride = queries;
    launch(*device_, over(PointwiseKind::log_add_exp, heads, queries / 2),
           {some_lse.at(queries / 2), late_lse.at(queries / 2), sums.at(queries / 2)}, half);
    Settings merge;
    merge.head = dim;
    merge.lse_stride = queries;
    launch(*device_, over(PointwiseKind::softmax_merge, queries, wide),
           {some_o.at(), some_lse.at(), sums.at(), merged.at()}, merge);
    const std::size_t behind = queries / 2 * wide;
    launch(*device_, over(PointwiseKind::softmax_merge, queries / 2, wide),
           {late_o.at(behind), late_lse.at(queries / 2), sums.at(queries / 2), merged.at(behind)}, merge);

    forward(0, 0, keys, o_, lse_);
    Floats expected = o_.back();
    std::copy(alone.begin(), alone.begin() + behind, expected.begin());
    expect_close(merged.back(), doubles(expected));
}

TEST_F(AttentionInParts, HasTheWholesGradients) {
    forward(0, 0, keys, o_, lse_);
    constexpr std::size_t packed = wide + 8;  // a row of dq has room for more
    const auto backward = [&](std::uint32_t from, std::uint32_t to, const OnDevice<float>& dq, float* dk) {
        Settings settings = strides();
        settings.dq_stride = packed;
        float* const k = kv_.at(from * 2 * narrow);
        launch(*device_, over_keys(true, queries, to - from),
               {q_.at(), k, k + narrow, o_.at(), lse_.at(), do_.at(), dq.at(), dk, dk + narrow}, settings);
    };
    const OnDevice<float> dq(*device_, Floats(queries * packed, 7.0f)), first(*device_, Floats(queries * packed)),
        second(*device_, Floats(queries * packed));
    const OnDevice<float> whole(*device_, Floats(keys * 2 * narrow)), parts(*device_, Floats(keys * 2 * narrow));
    backward(0, keys, dq, whole.at());
    backward(0, 4, first, parts.at());
    backward(4, keys, second, parts.at(4 * 2 * narrow));
    expect_close(parts.back(), doubles(whole.back()));
    Doubles sum;
    const Floats one = first.back(), two = second.back();
    for (std::size_t i = 0; i < one.size(); ++i)
        sum.push_back(i % packed < wide ? static_cast<double>(one[i]) + static_cast<double>(two[i]) : 7.0);
    expect_close(dq.back(), sum);
}

/// Two sequences whose log-sum-exps follow each other.
TEST_F(AttentionInParts, MergesEachSequenceByItsOwnSums) {
    const Floats x = normal(2 * queries * wide, seed + 3), part = normal(2 * heads * queries, seed + 4),
                 all = normal(2 * heads * queries, seed + 5);
    const OnDevice<float> in(*device_, x), one(*device_, part), two(*device_, all),
        out(*device_, Floats(2 * queries * wide, 1.0f));
    Settings settings;
    settings.head = dim;
    settings.positions = queries;
    launch(*device_, over(PointwiseKind::softmax_merge, 2 * queries, wide), {in.at(), one.at(), two.at(), out.at()},
           settings);
    Doubles expected;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t row = i / wide, lse = (row / queries * heads + i % wide / dim) * queries + row % queries;
        expected.push_back(1 + std::exp(static_cast<double>(part[lse] - all[lse])) * static_cast<double>(x[i]));
    }
    expect_close(out.back(), expected);
}

TEST_F(AttentionInParts, CopiesColumnsOfRows) {
    const Floats x = normal(5 * 12, seed);
    const OnDevice<float> rows(*device_, x), columns(*device_, Floats(5 * 3));
    device_->copy_rows(columns.at(), 3 * sizeof(float), rows.at(2), 12 * sizeof(float), 3 * sizeof(float), 5, 0);
    device_->synchronize();
    Doubles expected;
    for (std::size_t row = 0; row < 5; ++row)
        for (std::size_t c = 2; c < 5; ++c) expected.push_back(static_cast<double>(x[row * 12 + c]));
    expect_close(columns.back(), expected);
}

}  // namespace
}  // namespace orrery::kernels::settings_checks
