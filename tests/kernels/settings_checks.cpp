#include "tests/kernels/settings_checks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "kernels/operands.hpp"
#include "kernels/reference/reference.hpp"
#include "tests/kernels/on_device.hpp"

namespace orrery::kernels::settings_checks {

namespace {

/// One output of a kernel with default settings, given its operands: null for outputs.
Doubles plain(const Kernel& kernel, const std::vector<const void*>& before, std::size_t output) {
    const auto list = operands(kernel);
    std::vector<Values> values;
    for (std::size_t i = 0; i < list.size(); ++i)
        values.push_back({list[i].format, static_cast<const std::byte*>(before[i])});
    Doubles result;
    for (std::uint64_t i = 0; i < list[output].elements; ++i) result.push_back(reference(kernel, values, output, i));
    return result;
}

}  // namespace

void products_accumulate_and_add_a_bias(Device& device) {
    for (const GemmPass pass : {GemmPass::forward, GemmPass::data_gradient, GemmPass::weight_gradient})
        for (const int mode : {0, 1, 2, 3}) {
            SCOPED_TRACE(mode);
            const Gemm gemm{Dtype::fp32, 1, 36, 52, 44, pass};
            const Floats a = normal(36 * 44, seed), b = normal(44 * 52, seed + 1), c = normal(36 * 52, seed + 2);
            const Floats bias = normal(52, seed + 3);
            Doubles expected = plain(gemm, {a.data(), b.data(), nullptr}, 2);
            const OnDevice<float> left(device, a), right(device, b), result(device, c), row(device, bias);
            Settings settings;
            settings.accumulate = (mode & 1) != 0;
            settings.bias = (mode & 2) != 0 ? row.at() : nullptr;
            for (std::size_t i = 0; i < c.size(); ++i)
                expected[i] += (settings.accumulate ? static_cast<double>(c[i]) : 0.0) +
                               (settings.bias != nullptr ? static_cast<double>(bias[i % 52]) : 0.0);
            // Twice with the same shape: the second finds what the first chose, and another bias.
            launch(device, gemm, {left.at(), right.at(), result.at()}, settings);
            expect_close(result.back(), expected);
            const OnDevice<float> again(device, c), other(device, Floats(52, 1.0f));
            if (settings.bias != nullptr) settings.bias = other.at();
            launch(device, gemm, {left.at(), right.at(), again.at()}, settings);
            for (std::size_t i = 0; settings.bias != nullptr && i < c.size(); ++i)
                expected[i] += 1.0 - static_cast<double>(bias[i % 52]);
            expect_close(again.back(), expected);
        }
}

void sums_accumulate(Device& device) {
    using enum PointwiseKind;
    constexpr std::size_t rows = 150, cols = 68;
    for (const PointwiseKind kind : {bias_gradient, sum_of_squares, layernorm_backward, rmsnorm_backward}) {
        const Pointwise kernel = over(kind, rows, cols);
        const auto list = operands(kernel);
        std::vector<Floats> host;
        for (std::size_t i = 0; i < list.size(); ++i) {
            host.push_back(normal(list[i].elements, seed + i));
            if (list[i].name == "rstd")
                for (float& value : host.back()) value = 0.5f + std::abs(value);
        }
        std::vector<const void*> before;
        std::vector<std::unique_ptr<OnDevice<float>>> memory;
        std::vector<void*> pointers;
        for (const Floats& values : host) {
            before.push_back(values.data());
            memory.push_back(std::make_unique<OnDevice<float>>(device, values));
            pointers.push_back(memory.back()->at());
        }
        Settings settings;
        settings.accumulate = true;
        launch(device, kernel, pointers, settings);
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (list[i].role == Role::in) continue;
            SCOPED_TRACE(list[i].name);
            Doubles expected = plain(kernel, before, i);
            for (std::size_t e = 0; list[i].name != "dx" && e < expected.size(); ++e)
                expected[e] += static_cast<double>(host[i][e]);
            expect_close(memory[i]->back(), expected);
        }
    }
}

void scale_and_adam_take_their_numbers(Device& device) {
    constexpr std::size_t count = 1003;
    const Floats x = normal(count, seed), m0 = normal(count, seed + 1);
    const OnDevice<float> values(device, x);
    Settings settings;
    settings.scale_factor = -1.75;
    launch(device, over(PointwiseKind::scale, 1, count), {values.at(), values.at()}, settings);
    Doubles scaled, weights, first, second;
    for (const float value : x) scaled.push_back(-1.75 * static_cast<double>(value));
    expect_close(values.back(), scaled);

    settings.adam = {.rate = 2e-2, .b1 = 0.8, .b2 = 0.9, .epsilon = 1e-4, .decay = 0.3, .step = 2};
    Floats v0(count);
    for (std::size_t i = 0; i < count; ++i) v0[i] = 0.1f + m0[i] * m0[i];
    const OnDevice<float> g(device, m0), w(device, x), m(device, m0), v(device, v0);
    launch(device, over(PointwiseKind::adam, 1, count), {g.at(), w.at(), m.at(), v.at(), w.at()}, settings);
    for (std::size_t i = 0; i < count; ++i) {
        const double moment = static_cast<double>(m0[i]), weight = static_cast<double>(x[i]);
        const double gradient = -1.75 * moment;
        first.push_back(0.8 * moment + 0.2 * gradient);
        second.push_back(0.9 * static_cast<double>(v0[i]) + 0.1 * gradient * gradient);
        const double step = first[i] / (1 - 0.64) / (std::sqrt(second[i] / (1 - 0.81)) + 1e-4);
        weights.push_back(weight - 2e-2 * (step + 0.3 * weight));
    }
    expect_close(w.back(), weights);
    expect_close(m.back(), first);
    expect_close(v.back(), second);
}

void rope_turns_heads_inside_packed_rows(Device& device) {
    constexpr std::size_t rows = 22, positions = 11;
    for (const std::size_t head : {6, 8, 64})
        for (const PointwiseKind kind : {PointwiseKind::rope, PointwiseKind::rope_backward}) {
            const std::size_t cols = 3 * head, stride = cols + head;
            const Floats x = normal(rows * stride, seed), angle = normal(positions * head / 2, seed + 1);
            Floats cosine, sine;
            for (const float turn : angle) {
                cosine.push_back(std::cos(turn));
                sine.push_back(std::sin(turn));
            }
            const OnDevice<float> memory(device, x), cos(device, cosine), sin(device, sine);
            Settings settings;
            settings.row_stride = stride;
            settings.head = head;
            settings.positions = positions;
            launch(device, over(kind, rows, cols), {memory.at(), cos.at(), sin.at(), memory.at()}, settings);
            Doubles expected(x.begin(), x.end());
            const double sign = kind == PointwiseKind::rope ? 1 : -1;
            for (std::size_t r = 0; r < rows; ++r)
                for (std::size_t c = 0; c < cols; c += 2) {
                    const std::size_t at = r * stride + c, table = r % positions * (head / 2) + c % head / 2;
                    const double even = expected[at], odd = expected[at + 1];
                    const double co = static_cast<double>(cosine[table]), si = sign * static_cast<double>(sine[table]);
                    expected[at] = even * co - odd * si;
                    expected[at + 1] = even * si + odd * co;
                }
            expect_close(memory.back(), expected);
        }
}

namespace {

struct Packed {
    std::size_t tokens, wide, narrow;  ///< columns of q, and of k or v
    [[nodiscard]] std::size_t stride() const { return wide + 2 * narrow; }

    [[nodiscard]] Floats pack(const Floats& q, const Floats& k, const Floats& v) const {
        Floats rows;
        for (std::size_t t = 0; t < tokens; ++t) {
            rows.insert(rows.end(), q.begin() + t * wide, q.begin() + (t + 1) * wide);
            for (const Floats* part : {&k, &v})
                rows.insert(rows.end(), part->begin() + t * narrow, part->begin() + (t + 1) * narrow);
        }
        return rows;
    }
    /// Columns [begin, begin + count) of every row.
    [[nodiscard]] Floats part(const Floats& rows, std::size_t begin, std::size_t count) const {
        Floats values;
        for (std::size_t t = 0; t < tokens; ++t)
            values.insert(values.end(), rows.begin() + t * stride() + begin,
                          rows.begin() + t * stride() + begin + count);
        return values;
    }
};

void check_attention(Device& device, Attention shape) {
    SCOPED_TRACE(to_text(Kernel(shape)));
    const Packed packed{std::size_t{shape.batch} * shape.seq, std::size_t{shape.heads} * shape.head_dim,
                        std::size_t{shape.kv_heads} * shape.head_dim};
    const std::size_t wide = packed.wide, narrow = packed.narrow;
    const Floats q = normal(packed.tokens * wide, seed), k = normal(packed.tokens * narrow, seed + 1);
    const Floats v = normal(packed.tokens * narrow, seed + 2), d_o = normal(packed.tokens * wide, seed + 3);
    const OnDevice<float> qkv(device, packed.pack(q, k, v)), o(device, Floats(q.size()));
    const OnDevice<float> lse(device, Floats(packed.tokens * shape.heads)), gradient(device, d_o);
    Settings settings;
    settings.row_stride = packed.stride();
    launch(device, shape, {qkv.at(), qkv.at(wide), qkv.at(wide + narrow), o.at(), lse.at()}, settings);
    const Floats out = o.back(), sums = lse.back();
    expect_close(out, plain(shape, {q.data(), k.data(), v.data(), nullptr, nullptr}, 3));
    expect_close(sums, plain(shape, {q.data(), k.data(), v.data(), nullptr, nullptr}, 4));

    shape.backward = true;
    const OnDevice<float> all(device, Floats(packed.tokens * packed.stride()));
    launch(device, shape,
           {qkv.at(), qkv.at(wide), qkv.at(wide + narrow), o.at(), lse.at(), gradient.at(), all.at(), all.at(wide),
            all.at(wide + narrow)},
           settings);
    const std::vector<const void*> before{q.data(),   k.data(), v.data(), out.data(), sums.data(),
                                          d_o.data(), nullptr,  nullptr,  nullptr};
    expect_close(packed.part(all.back(), 0, wide), plain(shape, before, 6));
    expect_close(packed.part(all.back(), wide, narrow), plain(shape, before, 7));
    expect_close(packed.part(all.back(), wide + narrow, narrow), plain(shape, before, 8));
}

}  // namespace

void attention_reads_heads_inside_packed_rows(Device& device) {
    for (const bool causal : {true, false}) {
        check_attention(device, {Dtype::fp32, false, causal, 2, 8, 4, 2, 4});
        check_attention(device, {Dtype::fp32, false, causal, 1, 70, 2, 1, 8});
        check_attention(device, {Dtype::fp32, false, causal, 1, 66, 1, 1, 64});
        check_attention(device, {Dtype::fp32, false, causal, 1, 40, 2, 2, 96});
        check_attention(device, {Dtype::fp32, false, causal, 1, 35, 1, 1, 128});
    }
}

namespace {

constexpr std::size_t loss_rows = 9;

/// Probabilities and loss over the first `classes` columns.
struct Softmax {
    Doubles probabilities, loss, gradient;
    Softmax(const Floats& logits, const Ids& targets, std::size_t cols, std::size_t classes)
        : probabilities(logits.size()), gradient(logits.size()) {
        for (std::size_t r = 0; r < targets.size(); ++r) {
            double total = 0;
            for (std::size_t c = 0; c < classes; ++c) total += std::exp(static_cast<double>(logits[r * cols + c]));
            for (std::size_t c = 0; c < classes; ++c) {
                const std::size_t at = r * cols + c;
                probabilities[at] = std::exp(static_cast<double>(logits[at])) / total;
                gradient[at] =
                    (probabilities[at] - (static_cast<std::int32_t>(c) == targets[r] ? 1 : 0)) / double(targets.size());
            }
            loss.push_back(std::log(total) -
                           static_cast<double>(logits[r * cols + static_cast<std::size_t>(targets[r])]));
        }
    }
};

Ids targets_below(std::size_t classes) {
    Ids targets;
    for (std::size_t r = 0; r < loss_rows; ++r) targets.push_back(static_cast<std::int32_t>(r * 31 % classes));
    return targets;
}

}  // namespace

void losses_leave_padding_out(Device& device) {
    for (const std::size_t cols : {31, 256, 5000}) {
        const std::size_t classes = cols - 6;
        const Floats logits = normal(loss_rows * cols, seed);
        const Ids ids = targets_below(classes);
        const Softmax expected(logits, ids, cols, classes);
        const OnDevice<float> rows(device, logits), loss(device, Floats(loss_rows));
        const OnDevice<std::int32_t> targets(device, ids);
        Settings settings;
        settings.classes = classes;
        launch(device, over(PointwiseKind::cross_entropy, loss_rows, cols),
               {rows.at(), targets.at(), rows.at(), loss.at()}, settings);
        expect_close(rows.back(), expected.probabilities);
        expect_close(loss.back(), expected.loss);
        launch(device, over(PointwiseKind::cross_entropy_backward, loss_rows, cols),
               {rows.at(), targets.at(), rows.at()}, settings);
        expect_close(rows.back(), expected.gradient);
        const OnDevice<float> at_once(device, logits), again(device, Floats(loss_rows));
        settings.loss_gradient = true;
        launch(device, over(PointwiseKind::cross_entropy, loss_rows, cols),
               {at_once.at(), targets.at(), at_once.at(), again.at()}, settings);
        expect_close(at_once.back(), expected.gradient);
        expect_close(again.back(), expected.loss);
    }
}

/// Two ranks' parts of a vocabulary, of which the second ends in padding.
void parts_of_a_loss_make_the_whole(Device& device) {
    constexpr std::size_t cols = 60, part = 32, classes = 57;
    const Floats logits = normal(loss_rows * cols, seed);
    const Ids ids = targets_below(classes);
    const Softmax expected(logits, ids, cols, classes);
    Floats maximum(loss_rows, -1e30f), sum(loss_rows), picked(loss_rows);
    std::array<std::unique_ptr<OnDevice<float>>, 2> rows;
    std::array<std::unique_ptr<OnDevice<std::int32_t>>, 2> targets;
    std::array<Settings, 2> settings;
    for (std::size_t half = 0; half < 2; ++half) {
        Floats own(loss_rows * part, 50.0f);  // what lies in padding must not matter
        Ids relative;
        settings[half].classes = std::min(part, classes - half * part);
        for (std::size_t r = 0; r < loss_rows; ++r) {
            for (std::size_t c = 0; c < part && half * part + c < cols; ++c)
                own[r * part + c] = logits[r * cols + half * part + c];
            relative.push_back(ids[r] - static_cast<std::int32_t>(half * part));
        }
        rows[half] = std::make_unique<OnDevice<float>>(device, own);
        targets[half] = std::make_unique<OnDevice<std::int32_t>>(device, relative);
        const OnDevice<float> largest(device, Floats(loss_rows));
        launch(device, over(PointwiseKind::cross_entropy_maximum, loss_rows, part), {rows[half]->at(), largest.at()},
               settings[half]);
        const Floats found = largest.back();
        for (std::size_t r = 0; r < loss_rows; ++r) maximum[r] = std::max(maximum[r], found[r]);
    }
    const OnDevice<float> largest(device, maximum);
    for (std::size_t half = 0; half < 2; ++half) {
        const OnDevice<float> own_sum(device, Floats(loss_rows)), own_picked(device, Floats(loss_rows));
        launch(device, over(PointwiseKind::cross_entropy_part, loss_rows, part),
               {rows[half]->at(), largest.at(), targets[half]->at(), rows[half]->at(), own_sum.at(), own_picked.at()},
               settings[half]);
        const Floats found = own_sum.back(), target = own_picked.back();
        for (std::size_t r = 0; r < loss_rows; ++r) {
            sum[r] += found[r];
            picked[r] += target[r];
        }
    }
    Floats losses;
    for (std::size_t r = 0; r < loss_rows; ++r) losses.push_back(maximum[r] + std::log(sum[r]) - picked[r]);
    expect_close(losses, expected.loss);
    const OnDevice<float> total(device, sum);
    for (std::size_t half = 0; half < 2; ++half) {
        launch(device, over(PointwiseKind::cross_entropy_part_backward, loss_rows, part),
               {rows[half]->at(), total.at(), targets[half]->at(), rows[half]->at()}, settings[half]);
        Doubles own(loss_rows * part);
        for (std::size_t r = 0; r < loss_rows; ++r)
            for (std::size_t c = 0; c < settings[half].classes; ++c)
                own[r * part + c] = expected.gradient[r * cols + half * part + c];
        expect_close(rows[half]->back(), own);
    }
}

void embeddings_leave_rows_of_others_out(Device& device) {
    constexpr std::size_t tokens = 40, cols = 20, table_rows = 12;
    const Floats table = normal(table_rows * cols, seed), dy = normal(tokens * cols, seed + 1);
    Ids ids;
    for (std::size_t t = 0; t < tokens; ++t) ids.push_back(static_cast<std::int32_t>(t * 7 % 25) - 6);
    Doubles rows(tokens * cols), sums(table.begin(), table.end());
    for (std::size_t t = 0; t < tokens; ++t) {
        if (ids[t] < 0 || ids[t] >= static_cast<std::int32_t>(table_rows)) continue;
        const std::size_t row = static_cast<std::size_t>(ids[t]) * cols;
        for (std::size_t c = 0; c < cols; ++c) {
            rows[t * cols + c] = static_cast<double>(table[row + c]);
            sums[row + c] += static_cast<double>(dy[t * cols + c]);
        }
    }
    const OnDevice<std::int32_t> which(device, ids);
    const OnDevice<float> words(device, table), out(device, Floats(tokens * cols, NAN)), gradient(device, dy);
    Settings settings;
    settings.table_rows = table_rows;
    launch(device, over(PointwiseKind::embedding, tokens, cols), {which.at(), words.at(), out.at()}, settings);
    expect_close(out.back(), rows);
    launch(device, over(PointwiseKind::embedding_backward, tokens, cols), {which.at(), gradient.at(), words.at()},
           settings);
    expect_close(words.back(), sums);
}

}  // namespace orrery::kernels::settings_checks
