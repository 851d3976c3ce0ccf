// Convolutions, pooling and batch norms: kernels over images, channels last.
#include "kernels/operands.hpp"
#include "kernels/reference/parts.hpp"

namespace orrery::kernels {

namespace {

/// One pixel of a batch of images of `channels` channels, and one of them.
struct Pixel {
    std::uint64_t image, row, column, channel;
};

Pixel pixel(std::uint64_t index, std::uint64_t rows, std::uint64_t columns, std::uint64_t channels) {
    const std::uint64_t position = index / channels;
    return {position / columns / rows, position / columns % rows, position % columns, index % channels};
}

/// Where an output's place in its window falls on the image: output * stride + place - padding; outside it is padding.
struct Reach {
    std::int64_t at;
    std::int64_t extent;
    [[nodiscard]] bool inside() const { return at >= 0 && at < extent; }
};

Reach reach(std::uint64_t output, std::uint64_t place, std::uint32_t stride, std::uint32_t padding,
            std::uint32_t extent) {
    return {static_cast<std::int64_t>(output * stride + place) - padding, extent};
}

/// The output whose window reaches the image's pixel `at` at its `place`; none where the stride skips it.
Reach output_of(std::uint64_t at, std::uint64_t place, std::uint32_t stride, std::uint32_t padding,
                std::uint32_t outputs) {
    const auto from = static_cast<std::int64_t>(at + padding) - static_cast<std::int64_t>(place);
    if (from < 0 || from % stride != 0) return {-1, outputs};
    return {from / stride, outputs};
}

/// Addresses in the three tensors of a convolution.
class Places {
public:
    explicit Places(const Convolution& c) : c_(c), in_group_(c.channels / c.groups), out_group_(c.outputs / c.groups) {}

    [[nodiscard]] std::uint64_t x(std::uint64_t image, std::int64_t row, std::int64_t column,
                                  std::uint64_t channel) const {
        const auto r = static_cast<std::uint64_t>(row), s = static_cast<std::uint64_t>(column);
        return ((image * c_.rows + r) * c_.columns + s) * c_.channels + channel;
    }
    [[nodiscard]] std::uint64_t y(std::uint64_t image, std::int64_t row, std::int64_t column,
                                  std::uint64_t output) const {
        const auto p = static_cast<std::uint64_t>(row), q = static_cast<std::uint64_t>(column);
        return ((image * c_.output_rows() + p) * c_.output_columns() + q) * c_.outputs + output;
    }
    [[nodiscard]] std::uint64_t w(std::uint64_t output, std::uint64_t r, std::uint64_t s, std::uint64_t member) const {
        return ((output * c_.kernel_rows + r) * c_.kernel_columns + s) * in_group_ + member;
    }
    [[nodiscard]] std::uint64_t in_group() const { return in_group_; }
    [[nodiscard]] std::uint64_t out_group() const { return out_group_; }

private:
    const Convolution& c_;
    std::uint64_t in_group_, out_group_;
};

double forward(const Convolution& c, Before v, std::uint64_t index) {
    const Places places(c);
    const Pixel to = pixel(index, c.output_rows(), c.output_columns(), c.outputs);
    const std::uint64_t first = to.channel / places.out_group() * places.in_group();
    return sum(std::uint64_t{c.kernel_rows} * c.kernel_columns, [&](std::uint64_t place) {
        const std::uint64_t r = place / c.kernel_columns, s = place % c.kernel_columns;
        const Reach row = reach(to.row, r * c.dilation, c.stride, c.padding, c.rows),
                    column = reach(to.column, s * c.dilation, c.stride, c.padding, c.columns);
        if (!row.inside() || !column.inside()) return 0.0;
        return sum(places.in_group(), [&](std::uint64_t member) {
            return v[0][places.x(to.image, row.at, column.at, first + member)] *
                   v[1][places.w(to.channel, r, s, member)];
        });
    });
}

double data_gradient(const Convolution& c, Before v, std::uint64_t index) {
    const Places places(c);
    const Pixel to = pixel(index, c.rows, c.columns, c.channels);
    const std::uint64_t first = to.channel / places.in_group() * places.out_group();
    return sum(std::uint64_t{c.kernel_rows} * c.kernel_columns, [&](std::uint64_t place) {
        const std::uint64_t r = place / c.kernel_columns, s = place % c.kernel_columns;
        const Reach row = output_of(to.row, r * c.dilation, c.stride, c.padding, c.output_rows()),
                    column = output_of(to.column, s * c.dilation, c.stride, c.padding, c.output_columns());
        if (!row.inside() || !column.inside()) return 0.0;
        return sum(places.out_group(), [&](std::uint64_t member) {
            return v[0][places.y(to.image, row.at, column.at, first + member)] *
                   v[1][places.w(first + member, r, s, to.channel % places.in_group())];
        });
    });
}

double weight_gradient(const Convolution& c, Before v, std::uint64_t index) {
    const Places places(c);
    const Pixel of = pixel(index, c.kernel_rows, c.kernel_columns, places.in_group());  // its image is the output
    const std::uint64_t channel = of.image / places.out_group() * places.in_group() + of.channel;
    return sum(std::uint64_t{c.batch} * c.output_rows() * c.output_columns(), [&](std::uint64_t position) {
        const Pixel at = pixel(position, c.output_rows(), c.output_columns(), 1);
        const Reach row = reach(at.row, of.row * c.dilation, c.stride, c.padding, c.rows),
                    column = reach(at.column, of.column * c.dilation, c.stride, c.padding, c.columns);
        if (!row.inside() || !column.inside()) return 0.0;
        return v[0][places.x(at.image, row.at, column.at, channel)] * v[1][position * c.outputs + of.image];
    });
}

/// f(pixel of x) for each pixel of the image in the window of one output, in the order of rows, then columns.
template <class Function>
void each_in_window(const Pooling& p, const Pixel& output, Function f) {
    for (std::uint64_t r = 0; r < p.window_rows; ++r)
        for (std::uint64_t s = 0; s < p.window_columns; ++s) {
            const Reach row = reach(output.row, r, p.stride, p.padding, p.rows),
                        column = reach(output.column, s, p.stride, p.padding, p.columns);
            if (!row.inside() || !column.inside()) continue;
            const auto at = static_cast<std::uint64_t>(row.at), beside = static_cast<std::uint64_t>(column.at);
            f(((output.image * p.rows + at) * p.columns + beside) * p.channels + output.channel);
        }
}

double window_size(const Pooling& p) { return double{1} * p.window_rows * p.window_columns; }

double pooled(const Pooling& p, Before v, std::uint64_t index) {
    const Pixel output = pixel(index, p.output_rows(), p.output_columns(), p.channels);
    double total = 0, largest = -INFINITY;
    each_in_window(p, output, [&](std::uint64_t at) {
        total += v[0][at];
        largest = std::max(largest, v[0][at]);
    });
    return p.kind == PoolingKind::maximum ? largest : total / window_size(p);
}

double pooling_gradient(const Pooling& p, Before v, std::uint64_t index) {
    const Pixel of = pixel(index, p.rows, p.columns, p.channels);
    const bool maximum = p.kind == PoolingKind::maximum;
    return sum(std::uint64_t{p.window_rows} * p.window_columns, [&](std::uint64_t place) {
        const Reach row = output_of(of.row, place / p.window_columns, p.stride, p.padding, p.output_rows()),
                    column = output_of(of.column, place % p.window_columns, p.stride, p.padding, p.output_columns());
        if (!row.inside() || !column.inside()) return 0.0;
        const Pixel output{of.image, static_cast<std::uint64_t>(row.at), static_cast<std::uint64_t>(column.at),
                           of.channel};
        const std::uint64_t y =
            ((output.image * p.output_rows() + output.row) * p.output_columns() + output.column) * p.channels +
            output.channel;
        if (!maximum) return v[0][y] / window_size(p);
        std::uint64_t best = index;
        bool found = false;
        each_in_window(p, output, [&](std::uint64_t at) {
            if (found && v[0][at] <= v[0][best]) return;
            best = at;
            found = true;
        });
        return best == index ? v[1][y] : 0.0;
    });
}

double mean(std::uint64_t rows, auto f) { return sum(rows, f) / static_cast<double>(rows); }

}  // namespace

double reference_convolution(const Convolution& c, Before v, std::uint64_t index) {
    switch (c.pass) {
        case GemmPass::forward: return forward(c, v, index);
        case GemmPass::data_gradient: return data_gradient(c, v, index);
        case GemmPass::weight_gradient: return weight_gradient(c, v, index);
    }
    return 0;
}

double reference_pooling(const Pooling& p, Before v, std::uint64_t index) {
    return p.backward ? pooling_gradient(p, v, index) : pooled(p, v, index);
}

double reference_batch_norm(const BatchNorm& b, Before v, std::size_t operand, std::uint64_t index) {
    const std::uint64_t c = index % b.channels;
    const auto x = [&](std::uint64_t r) { return v[0][r * b.channels + c]; };
    if (!b.backward) {
        const double centre = mean(b.rows, x);
        if (operand == 4) return centre;
        const double variance = mean(b.rows, [&](std::uint64_t r) { return (x(r) - centre) * (x(r) - centre); });
        const double rstd = 1 / std::sqrt(variance + norm_epsilon);
        return operand == 5 ? rstd : (v[0][index] - centre) * rstd * v[1][c] + v[2][c];
    }
    const double centre = v[3][c], rstd = v[4][c];
    const auto dy = [&](std::uint64_t r) { return v[2][r * b.channels + c]; };
    const auto h = [&](std::uint64_t r) { return (x(r) - centre) * rstd; };
    const auto dgamma = [&] { return sum(b.rows, [&](std::uint64_t r) { return dy(r) * h(r); }); };
    if (operand == 6) return dgamma();
    const double dbeta = sum(b.rows, dy);
    if (operand == 7) return dbeta;
    const std::uint64_t r = index / b.channels;
    const auto count = static_cast<double>(b.rows);
    return v[1][c] * rstd * (dy(r) - dbeta / count - h(r) * dgamma() / count);
}

}  // namespace orrery::kernels
