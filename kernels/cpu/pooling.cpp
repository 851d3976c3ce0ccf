// Pooling: a thread takes whole images; the inner loops run over channels, which lie side by side.
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/cpu/image.hpp"
#include "kernels/cpu/parallel.hpp"

namespace orrery::kernels::cpu {

namespace {

ORRERY_CLONED void add_row(const float* __restrict from, float factor, float* __restrict to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

ORRERY_CLONED void raise_row(const float* __restrict from, float* __restrict to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i] = std::max(to[i], from[i]);
}

/// Windows of one dimension: the pixels that output `at` sees, cut at the image's borders.
struct Windows {
    std::uint32_t extent, window, stride, padding;
    [[nodiscard]] std::uint32_t begin(std::uint32_t at) const {
        const std::uint32_t from = at * stride;
        return from < padding ? 0 : from - padding;
    }
    [[nodiscard]] std::uint32_t end(std::uint32_t at) const { return std::min(extent, at * stride + window - padding); }
};

/// One image in fp32.
class Image {
public:
    explicit Image(const Pooling& p)
        : p_(p),
          rows_{p.rows, p.window_rows, p.stride, p.padding},
          columns_{p.columns, p.window_columns, p.stride, p.padding},
          share_(1.0f / (static_cast<float>(p.window_rows) * static_cast<float>(p.window_columns))) {}

    void forward(const float* x, float* y) const {
        const bool maximum = p_.kind == PoolingKind::maximum;
        each_output([&](std::size_t output, std::uint32_t i, std::uint32_t j) {
            float* const to = y + output;
            std::fill(to, to + p_.channels, maximum ? std::numeric_limits<float>::lowest() : 0.0f);
            each_pixel(i, j, [&](std::size_t at) {
                maximum ? raise_row(x + at, to, p_.channels) : add_row(x + at, share_, to, p_.channels);
            });
        });
    }

    /// dx begins as zeros. x: of a maximum.
    void backward(const float* x, const float* dy, float* dx) const {
        std::vector<std::size_t> best(p_.channels);
        each_output([&](std::size_t output, std::uint32_t i, std::uint32_t j) {
            if (x == nullptr)
                return each_pixel(i, j, [&](std::size_t at) { add_row(dy + output, share_, dx + at, p_.channels); });
            std::fill(best.begin(), best.end(), std::numeric_limits<std::size_t>::max());
            each_pixel(i, j, [&](std::size_t at) {
                for (std::size_t c = 0; c < p_.channels; ++c)
                    if (best[c] == std::numeric_limits<std::size_t>::max() || x[at + c] > x[best[c]]) best[c] = at + c;
            });
            for (std::size_t c = 0; c < p_.channels; ++c) dx[best[c]] += dy[output + c];
        });
    }

private:
    template <class Function>
    void each_output(const Function& f) const {
        for (std::uint32_t i = 0; i < p_.output_rows(); ++i)
            for (std::uint32_t j = 0; j < p_.output_columns(); ++j)
                f((std::size_t{i} * p_.output_columns() + j) * p_.channels, i, j);
    }
    template <class Function>
    void each_pixel(std::uint32_t i, std::uint32_t j, const Function& f) const {
        for (std::uint32_t r = rows_.begin(i); r < rows_.end(i); ++r)
            for (std::uint32_t s = columns_.begin(j); s < columns_.end(j); ++s)
                f((std::size_t{r} * p_.columns + s) * p_.channels);
    }

    const Pooling& p_;
    Windows rows_, columns_;
    float share_;
};

}  // namespace

void run_pooling(const Pooling& p, const Memory& memory) {
    const Image image(p);
    const Format format = format_of(p.dtype);
    const std::size_t in = p.input_elements() / p.batch, out = p.output_elements() / p.batch;
    const bool looks = p.backward && p.kind == PoolingKind::maximum;
    each_unit(p.batch, [&](std::size_t i) {
        std::vector<float> x(in), y(out);
        if (!p.backward) {
            load(format, memory.as<void>(0), i * in, x.data(), in);
            image.forward(x.data(), y.data());
            return store(format, y.data(), memory.as<void>(1), i * out, out);
        }
        std::vector<float> dx(in);
        if (looks) load(format, memory.as<void>(0), i * in, x.data(), in);
        load(format, memory.as<void>(looks ? 1 : 0), i * out, y.data(), out);
        image.backward(looks ? x.data() : nullptr, y.data(), dx.data());
        store(format, dx.data(), memory.as<void>(looks ? 2 : 1), i * in, in);
    });
}

}  // namespace orrery::kernels::cpu
