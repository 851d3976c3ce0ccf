#include "kernels/operands.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/overloaded.hpp"

namespace orrery::kernels {

namespace {

using List = std::vector<Operand>;

Operand in(std::string_view name, Format format, std::uint64_t elements, Fill fill = Fill::normal,
           std::uint64_t bound = 0) {
    return {name, format, elements, Role::in, fill, bound};
}

Operand out(std::string_view name, Format format, std::uint64_t elements) {
    return {name, format, elements, Role::out, Fill::poison};
}

Operand in_out(std::string_view name, Format format, std::uint64_t elements, Fill fill = Fill::normal) {
    return {name, format, elements, Role::in_out, fill};
}

void require(bool holds, const Kernel& kernel, std::string_view why, std::string_view hint) {
    if (!holds) throw Error(fmt::format("{}: {}", to_text(kernel), why), std::string(hint));
}

List list(const Gemm& g) {
    require(g.batch > 0 && g.m > 0 && g.n > 0 && g.k > 0, g, "an extent is 0", "every extent is at least 1");
    const Format format = format_of(g.dtype);
    const Format result = is_narrow(g.dtype) ? Format::bf16 : g.dtype == Dtype::tf32 ? Format::fp32 : format;
    const std::uint64_t batch = g.batch, m = g.m, n = g.n, k = g.k;
    return {in("a", format, batch * m * k), in("b", format, batch * k * n), out("c", result, batch * m * n)};
}

List list(const Attention& a) {
    require(a.batch > 0 && a.seq > 0 && a.heads > 0 && a.kv_heads > 0 && a.head_dim > 0, a, "an extent is 0",
            "every extent is at least 1");
    require(a.heads % a.kv_heads == 0, a, "its key-value heads do not divide its heads",
            "every key-value head serves the same number of query heads");
    require(a.keys() >= a.seq || (!a.causal && a.window == 0), a, "it has fewer keys than queries",
            "a causal query, or one in a window, stands beside a key");
    const Format d = format_of(a.dtype);
    const std::uint64_t tokens = std::uint64_t{a.batch} * a.seq;
    const std::uint64_t q = tokens * a.heads * a.head_dim,
                        kv = std::uint64_t{a.batch} * a.keys() * a.kv_heads * a.head_dim;
    List list{in("q", d, q), in("k", d, kv), in("v", d, kv)};
    const std::uint64_t rows = tokens * a.heads;
    if (!a.backward) {
        list.insert(list.end(), {out("o", d, q), out("lse", Format::fp32, rows)});
        return list;
    }
    list.insert(list.end(), {in("o", d, q, Fill::forward), in("lse", Format::fp32, rows, Fill::forward), in("do", d, q),
                             out("dq", d, q), out("dk", d, kv), out("dv", d, kv)});
    return list;
}

List list(const Convolution& c) {
    require(std::min({c.batch, c.channels, c.rows, c.columns, c.outputs, c.kernel_rows, c.kernel_columns, c.stride,
                      c.dilation, c.groups}) > 0,
            c, "an extent is 0", "every extent is at least 1");
    require(c.channels % c.groups == 0 && c.outputs % c.groups == 0, c, "its groups do not divide its channels",
            "give as many input and as many output channels to each group");
    require(c.output_rows() > 0 && c.output_columns() > 0, c, "its kernel is larger than the padded image",
            "give a larger image, or pad it");
    const Format d = format_of(c.dtype);
    const std::uint64_t x = c.input_elements(), y = c.output_elements(), w = c.weights();
    switch (c.pass) {
        case GemmPass::forward: return {in("x", d, x), in("w", d, w), out("y", d, y)};
        case GemmPass::data_gradient: return {in("dy", d, y), in("w", d, w), out("dx", d, x)};
        case GemmPass::weight_gradient: return {in("x", d, x), in("dy", d, y), out("dw", d, w)};
    }
    return {};
}

List list(const Pooling& p) {
    require(std::min({p.batch, p.channels, p.rows, p.columns, p.window_rows, p.window_columns, p.stride}) > 0, p,
            "an extent is 0", "every extent is at least 1");
    require(p.output_rows() > 0 && p.output_columns() > 0, p, "its window is larger than the padded image",
            "give a larger image, or pad it");
    require(p.padding < std::min(p.window_rows, p.window_columns), p, "a window lies in the padding",
            "pad with less than the window's extent");
    const Format d = format_of(p.dtype);
    const std::uint64_t x = p.input_elements(), y = p.output_elements();
    if (!p.backward) return {in("x", d, x), out("y", d, y)};
    if (p.kind == PoolingKind::average) return {in("dy", d, y), out("dx", d, x)};
    return {in("x", d, x), in("dy", d, y), out("dx", d, x)};
}

List list(const BatchNorm& b) {
    require(b.rows > 0 && b.channels > 0, b, "an extent is 0", "every extent is at least 1");
    const Format d = format_of(b.dtype), f = Format::fp32;
    const std::uint64_t n = b.rows * b.channels;
    if (!b.backward)
        return {in("x", d, n),  in("gamma", f, b.channels), in("beta", f, b.channels),
                out("y", d, n), out("mean", f, b.channels), out("rstd", f, b.channels)};
    return {in("x", d, n),
            in("gamma", f, b.channels),
            in("dy", d, n),
            in("mean", f, b.channels, Fill::forward),
            in("rstd", f, b.channels, Fill::forward),
            out("dx", d, n),
            out("dgamma", f, b.channels),
            out("dbeta", f, b.channels)};
}

using enum PointwiseKind;

List list_norm(const Pointwise& p) {
    const Format d = format_of(p.dtype), f = Format::fp32;
    const std::uint64_t n = p.rows * p.cols;
    const Operand x = in("x", d, n), gamma = in("gamma", d, p.cols), dy = in("dy", d, n);
    const Operand mean = in("mean", f, p.rows, Fill::forward), rstd = in("rstd", f, p.rows, Fill::forward);
    const Operand dx = out("dx", d, n), dgamma = out("dgamma", f, p.cols);
    if (p.kind == layernorm)
        return {x, gamma, in("beta", d, p.cols), out("y", d, n), out("mean", f, p.rows), out("rstd", f, p.rows)};
    if (p.kind == layernorm_backward) return {x, gamma, dy, mean, rstd, dx, dgamma, out("dbeta", f, p.cols)};
    if (p.kind == rmsnorm) return {x, gamma, out("y", d, n), out("rstd", f, p.rows)};
    return {x, gamma, dy, rstd, dx, dgamma};
}

List list_rope(const Pointwise& p) {
    require(p.cols % 2 == 0, p, "rope rotates pairs of columns", "give an even number of columns");
    const Format d = format_of(p.dtype);
    const std::uint64_t n = p.rows * p.cols, table = std::min(p.rows, rope_positions) * rope_head(p.cols) / 2;
    const bool forward = p.kind == rope;
    return {in(forward ? "x" : "dy", d, n), in("cos", Format::fp32, table), in("sin", Format::fp32, table),
            out(forward ? "y" : "dx", d, n)};
}

List list_logarithms(const Pointwise& p) {
    const std::uint64_t n = p.rows * p.cols;
    return {in("a", Format::fp32, n), in("b", Format::fp32, n), out("c", Format::fp32, n)};
}

List list_merge(const Pointwise& p) {
    const Format d = format_of(p.dtype), f = Format::fp32;
    const std::uint64_t n = p.rows * p.cols, sums = n / rope_head(p.cols);
    return {in("x", d, n), in("part", f, sums), in("whole", f, sums), in_out("y", d, n)};
}

List list_moe(const Pointwise& p) {
    const Format d = format_of(p.dtype), f = Format::fp32, i = Format::int32;
    const std::uint64_t n = p.rows * p.cols;
    if (p.kind == moe_gate) {
        require(p.cols >= moe_top_k, p, "fewer experts than a token is sent to", "give at least two columns");
        const std::uint64_t chosen = p.rows * moe_top_k;
        return {in("logits", f, n), out("probabilities", f, n), out("expert", i, chosen), out("weight", f, chosen)};
    }
    require(p.rows % moe_top_k == 0, p, "rows are the copies of tokens, two each", "give an even number of rows");
    if (p.kind == permute)
        return {in("x", d, n / moe_top_k), in("source", i, p.rows, Fill::permutation), out("y", d, n)};
    return {in("x", d, n), in("position", i, p.rows, Fill::permutation), in("weight", f, p.rows, Fill::positive),
            out("y", d, n / moe_top_k)};
}

List list_tokens(const Pointwise& p) {
    const Format d = format_of(p.dtype);
    const std::uint64_t n = p.rows * p.cols;
    const Operand ids = in("ids", Format::int32, p.rows, Fill::index, p.rows);
    const Operand target = in("target", Format::int32, p.rows, Fill::index, p.cols);
    if (p.kind == embedding) return {ids, in("table", d, n), out("y", d, n)};
    if (p.kind == embedding_backward) return {ids, in("dy", d, n), in_out("dtable", d, n)};
    const Operand maximum = in("maximum", Format::fp32, p.rows), sum = in("sum", Format::fp32, p.rows, Fill::positive);
    if (p.kind == cross_entropy_maximum) return {in("logits", d, n), out("maximum", Format::fp32, p.rows)};
    if (p.kind == cross_entropy_part)
        return {in("logits", d, n),
                maximum,
                target,
                out("exponentials", d, n),
                out("sum", Format::fp32, p.rows),
                out("picked", Format::fp32, p.rows)};
    if (p.kind == cross_entropy_part_backward)
        return {in("exponentials", d, n, Fill::positive), sum, target, out("dlogits", d, n)};
    if (p.kind == cross_entropy)
        return {in("logits", d, n), target, out("probabilities", d, n), out("loss", Format::fp32, p.rows)};
    return {in("probabilities", d, n, Fill::probability, p.cols), target, out("dlogits", d, n)};
}

List list_adam(const Pointwise& p) {
    const Format f = Format::fp32;
    const std::uint64_t n = p.rows * p.cols;
    return {in("g", f, n), in_out("w", f, n), in_out("m", f, n), in_out("v", f, n, Fill::positive),
            out("copy", format_of(p.dtype), n)};
}

List list(const Pointwise& p) {
    require(p.rows > 0 && p.cols > 0, p, "an extent is 0", "every extent is at least 1");
    const Format d = format_of(p.dtype);
    const std::uint64_t n = p.rows * p.cols;
    const Operand x = in("x", d, n), bias = in("bias", d, p.cols), dy = in("dy", d, n);
    const Operand y = out("y", d, n), dx = out("dx", d, n), mask = in("mask", Format::mask, n, Fill::keep);
    switch (p.kind) {
        case layernorm:
        case layernorm_backward:
        case rmsnorm:
        case rmsnorm_backward: return list_norm(p);
        case softmax: return {x, y};
        case softmax_backward: return {in("y", d, n, Fill::probability, p.cols), dy, dx};
        case log_add_exp: return list_logarithms(p);
        case softmax_merge: return list_merge(p);
        case gelu: return {x, bias, y};
        case gelu_backward: return {x, bias, dy, dx};
        case swiglu: return {in("x", d, 2 * n), y};
        case swiglu_backward: return {in("x", d, 2 * n), dy, out("dx", d, 2 * n)};
        case relu: return {x, y};
        case relu_backward: return {in("y", d, n), dy, dx};
        case dropout: return {x, out("mask", Format::mask, n), y};
        case dropout_backward:
        case bias_dropout_add_backward: return {dy, mask, dx};
        case bias_dropout_add: return {x, bias, in("residual", d, n), out("mask", Format::mask, n), y};
        case add: return {in("a", d, n), in("b", d, n), out("c", d, n)};
        case scale: return {in("a", d, n), out("b", d, n)};
        case rope:
        case rope_backward: return list_rope(p);
        case embedding:
        case embedding_backward:
        case cross_entropy:
        case cross_entropy_backward:
        case cross_entropy_maximum:
        case cross_entropy_part:
        case cross_entropy_part_backward: return list_tokens(p);
        case bias_gradient: return {dy, out("db", d, p.cols)};
        case transpose: return {x, y};
        case cast: return {x, out("y", Format::fp32, n)};
        case fill: return {out("x", d, n)};
        case moe_gate:
        case permute:
        case unpermute: return list_moe(p);
        case adam: return list_adam(p);
        case sum_of_squares: return {x, out("sum", Format::fp32, 1)};
    }
    return {};
}

}  // namespace

std::uint64_t rope_head(std::uint64_t cols) {
    std::uint64_t head = 128;
    while (cols % head != 0) head /= 2;
    return head;
}

std::vector<Operand> operands(const Kernel& kernel) {
    return std::visit(Overloaded{[](const Gemm& g) { return list(g); }, [](const Attention& a) { return list(a); },
                                 [](const Pointwise& p) { return list(p); },
                                 [](const Convolution& c) { return list(c); }, [](const Pooling& p) { return list(p); },
                                 [](const BatchNorm& b) { return list(b); }, [](const StateSpace&) { return List{}; }},
                      kernel);
}

std::uint64_t footprint(const Kernel& kernel) {
    std::uint64_t bytes = 0;
    for (const Operand& operand : operands(kernel)) bytes += operand.bytes();
    return bytes;
}

std::optional<Kernel> forward_of(const Kernel& kernel) {
    using Found = std::optional<Kernel>;
    return std::visit(Overloaded{[](const Gemm&) -> Found { return std::nullopt; },
                                 [](Attention a) -> Found {
                                     if (!a.backward) return std::nullopt;
                                     a.backward = false;
                                     return a;
                                 },
                                 [](Pointwise p) -> Found {
                                     if (p.kind != layernorm_backward && p.kind != rmsnorm_backward)
                                         return std::nullopt;
                                     p.kind = p.kind == layernorm_backward ? layernorm : rmsnorm;
                                     return p;
                                 },
                                 [](const Convolution&) -> Found { return std::nullopt; },
                                 [](const Pooling&) -> Found { return std::nullopt; },
                                 [](BatchNorm b) -> Found {
                                     if (!b.backward) return std::nullopt;
                                     b.backward = false;
                                     return b;
                                 },
                                 [](const StateSpace&) -> Found { return std::nullopt; }},
                      kernel);
}

}  // namespace orrery::kernels
