#include "kernels/kernel.hpp"

#include <fmt/format.h>

#include <array>

#include "base/enum_table.hpp"
#include "base/error.hpp"
#include "base/overloaded.hpp"
#include "kernels/pointwise_traffic.hpp"
#include "kernels/state_space_work.hpp"

namespace orrery::kernels {

namespace {

constexpr EnumNames<GemmPass> pass_names{"forward", "data-gradient", "weight-gradient"};
constexpr EnumNames<Dtype> dtype_names{"fp32", "tf32", "fp16", "bf16", "fp8", "fp4"};

}  // namespace

std::uint32_t size_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::fp32:
        case Dtype::tf32: return 4;
        case Dtype::fp16:
        case Dtype::bf16: return 2;
        case Dtype::fp8:
        case Dtype::fp4: return 1;
    }
    return 4;
}

std::string_view name(Dtype dtype) { return dtype_names[dtype]; }

Dtype dtype_from(std::string_view text) {
    if (const auto found = dtype_names.find(text)) return *found;
    throw Error(fmt::format("unknown number format \"{}\"", text), "one of fp32, tf32, fp16, bf16, fp8, fp4");
}

std::string_view name(GemmPass pass) { return pass_names[pass]; }

GemmPass gemm_pass_from(std::string_view text) {
    if (const auto found = pass_names.find(text)) return *found;
    throw Error(fmt::format("unknown pass \"{}\"", text), "one of forward, data-gradient, weight-gradient");
}

double Attention::pairs() const {
    // Over the queries: the sum of max(0, from + i) for i = 0 ... seq - 1.
    const auto ramp = [n = double{1} * seq](double from) {
        const double terms = std::max(0.0, n + std::min(0.0, from));
        return from >= 0 ? n * from + n * (n - 1) / 2 : terms * (terms - 1) / 2;
    };
    const double offset = double{1} * keys() - seq, all = double{1} * seq * keys(), own = causal ? seq / 2.0 : 0.0;
    double ends = all;
    if (causal)
        ends = ramp(offset + 1);
    else if (window != 0)  // min(keys, position + window)
        ends = ramp(offset + window) - ramp(offset + window - keys());
    const double firsts = window == 0 ? 0.0 : ramp(offset + 1 - window);
    return ends - firsts - own;
}

Dtype dtype_of(const Kernel& kernel) {
    return std::visit([](const auto& any) { return any.dtype; }, kernel);
}

Kernel with_dtype(Kernel kernel, Dtype dtype) {
    std::visit([dtype](auto& any) { any.dtype = dtype; }, kernel);
    return kernel;
}

double flops(const Kernel& kernel) {
    return std::visit(Overloaded{[](const Gemm& g) { return flops(g); },
                                 [](const Attention& a) {
                                     const double product = 2.0 * a.batch * a.heads * a.pairs() * a.head_dim;
                                     return (a.backward ? 5.0 : 2.0) * product;
                                 },
                                 [](const Pointwise&) { return 0.0; },
                                 [](const Convolution& c) {
                                     const double pixels = double{1} * c.batch * c.output_rows() * c.output_columns();
                                     return 2.0 * pixels * static_cast<double>(c.weights());
                                 },
                                 [](const Pooling&) { return 0.0; }, [](const BatchNorm&) { return 0.0; },
                                 [](const StateSpace& s) { return flops_of(s); }},
                      kernel);
}

namespace {

double bytes_of(const Gemm& g) {
    // fp8 and fp4 products are written in 16 bits: the next kernel reads them so. Two fp4 numbers share a byte, and 16
    // a scale of one.
    constexpr double packed = 0.5 + 1.0 / 16;
    const double in = g.dtype == Dtype::fp4 ? packed : size_of(g.dtype), out = is_narrow(g.dtype) ? 2.0 : in;
    const double m = g.m, n = g.n, k = g.k;
    return g.batch * (in * (m * k + k * n) + out * m * n);
}

double bytes_of(const Attention& a) {
    const double seen = static_cast<double>(a.end_key(a.seq - 1) - a.first_key(0));
    const double q = static_cast<double>(a.batch) * a.seq * a.heads * a.head_dim,
                 kv = 2.0 * a.batch * seen * a.kv_heads * a.head_dim;
    // forward: read Q K V, write O. backward: read Q K V O dO, write dQ dK dV.
    const double elements = a.backward ? 4.0 * q + 2.0 * kv : 2.0 * q + kv;
    return elements * size_of(a.dtype);
}

double bytes_of(const Pointwise& p) {
    return static_cast<double>(p.rows) * static_cast<double>(p.cols) *
           traffic(p.kind).bytes_per_element(size_of(p.dtype));
}

double bytes_of(const Convolution& c) {
    return static_cast<double>(c.input_elements() + c.output_elements() + c.weights()) * size_of(c.dtype);
}

double bytes_of(const Pooling& p) {
    const auto in = static_cast<double>(p.input_elements()), out = static_cast<double>(p.output_elements());
    // The backward of a maximum looks for it in x again: x, dy -> dx.
    const double again = p.backward && p.kind == PoolingKind::maximum ? in : 0.0;
    return (in + out + again) * size_of(p.dtype);
}

double bytes_of(const BatchNorm& b) {
    const double elements = static_cast<double>(b.rows) * static_cast<double>(b.channels);
    return (b.backward ? 5.0 : 3.0) * elements * size_of(b.dtype);  // x (and dy) twice, one result
}

}  // namespace

double bytes(const Kernel& kernel) {
    return std::visit(
        Overloaded{[](const Gemm& g) { return bytes_of(g); }, [](const Attention& a) { return bytes_of(a); },
                   [](const Pointwise& p) { return bytes_of(p); }, [](const Convolution& c) { return bytes_of(c); },
                   [](const Pooling& p) { return bytes_of(p); }, [](const BatchNorm& b) { return bytes_of(b); },
                   [](const StateSpace& s) { return bytes_of(s); }},
        kernel);
}

double intensity(const Kernel& kernel) { return flops(kernel) / bytes(kernel); }

namespace {

std::string text(const Gemm& g) {
    const bool forward = g.pass == GemmPass::forward;
    return fmt::format("gemm {} {}x{}x{}x{}{}{}{}", name(g.dtype), g.batch, g.m, g.n, g.k, forward ? "" : " ",
                       forward ? "" : name(g.pass), g.spared == 0 ? "" : fmt::format(" sparing {}", g.spared));
}

std::string text(const Attention& a) {
    const std::string keys = a.keys() == a.seq ? "" : fmt::format(" k{}", a.keys()),
                      window = a.window == 0 ? "" : fmt::format(" window {}", a.window);
    return fmt::format("attention{} {} b{} s{}{} h{} kv{} d{}{}{}{}", a.backward ? "-backward" : "", name(a.dtype),
                       a.batch, a.seq, keys, a.heads, a.kv_heads, a.head_dim, a.causal ? " causal" : "", window,
                       a.dropout ? " dropout" : "");
}

std::string text(const Pointwise& p) { return fmt::format("{} {} {}x{}", name(p.kind), name(p.dtype), p.rows, p.cols); }

/// " key value", or nothing where it is the usual one.
std::string unless(std::string_view key, std::uint32_t value, std::uint32_t usual) {
    return value == usual ? "" : fmt::format(" {} {}", key, value);
}

std::string text(const Convolution& c) {
    const bool forward = c.pass == GemmPass::forward;
    return fmt::format("convolution {} n{} {}x{}x{} -> {} {}x{}{}{}{}{}{}{}", name(c.dtype), c.batch, c.channels,
                       c.rows, c.columns, c.outputs, c.kernel_rows, c.kernel_columns, unless("stride", c.stride, 1),
                       unless("pad", c.padding, 0), unless("dilation", c.dilation, 1), unless("groups", c.groups, 1),
                       forward ? "" : " ", forward ? "" : name(c.pass));
}

std::string text(const Pooling& p) {
    return fmt::format("{}-pooling{} {} n{} {}x{}x{} {}x{}{}{}", p.kind == PoolingKind::maximum ? "maximum" : "average",
                       p.backward ? "-backward" : "", name(p.dtype), p.batch, p.channels, p.rows, p.columns,
                       p.window_rows, p.window_columns, unless("stride", p.stride, 1), unless("pad", p.padding, 0));
}

std::string text(const BatchNorm& b) {
    return fmt::format("batch-norm{} {} {}x{}", b.backward ? "-backward" : "", name(b.dtype), b.rows, b.channels);
}

std::string text(const StateSpace& s) {
    return fmt::format("{} {} b{} s{} h{} d{} g{} n{} chunk {}", name(s.kind), name(s.dtype), s.batch, s.seq, s.heads,
                       s.head_dim, s.groups, s.state, s.chunk);
}

}  // namespace

std::string to_text(const Kernel& kernel) {
    return std::visit(
        Overloaded{[](const Gemm& g) { return text(g); }, [](const Attention& a) { return text(a); },
                   [](const Pointwise& p) { return text(p); }, [](const Convolution& c) { return text(c); },
                   [](const Pooling& p) { return text(p); }, [](const BatchNorm& b) { return text(b); },
                   [](const StateSpace& s) { return text(s); }},
        kernel);
}

}  // namespace orrery::kernels
