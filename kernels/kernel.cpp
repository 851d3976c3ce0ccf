#include "kernels/kernel.hpp"

#include <fmt/format.h>

#include <array>

#include "base/enum_table.hpp"
#include "base/error.hpp"
#include "base/overloaded.hpp"
#include "kernels/pointwise_traffic.hpp"

namespace orrery::kernels {

namespace {

constexpr EnumNames<GemmPass> pass_names{"forward", "data-gradient", "weight-gradient"};
constexpr EnumNames<Dtype> dtype_names{"fp32", "tf32", "fp16", "bf16", "fp8"};

double causal_share(const Attention& a) { return a.causal ? 0.5 : 1.0; }

}  // namespace

std::uint32_t size_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::fp32:
        case Dtype::tf32: return 4;
        case Dtype::fp16:
        case Dtype::bf16: return 2;
        case Dtype::fp8: return 1;
    }
    return 4;
}

std::string_view name(Dtype dtype) { return dtype_names[dtype]; }

Dtype dtype_from(std::string_view text) {
    if (const auto found = dtype_names.find(text)) return *found;
    throw Error(fmt::format("unknown number format \"{}\"", text), "one of fp32, tf32, fp16, bf16, fp8");
}

std::string_view name(GemmPass pass) { return pass_names[pass]; }

GemmPass gemm_pass_from(std::string_view text) {
    if (const auto found = pass_names.find(text)) return *found;
    throw Error(fmt::format("unknown pass \"{}\"", text), "one of forward, data-gradient, weight-gradient");
}

double flops(const Kernel& kernel) {
    return std::visit(Overloaded{[](const Gemm& g) { return 2.0 * g.batch * g.m * static_cast<double>(g.n) * g.k; },
                                 [](const Attention& a) {
                                     const double product = 2.0 * a.batch * a.heads * static_cast<double>(a.seq) *
                                                            a.seq * a.head_dim * causal_share(a);
                                     return (a.backward ? 5.0 : 2.0) * product;
                                 },
                                 [](const Pointwise&) { return 0.0; }},
                      kernel);
}

double bytes(const Kernel& kernel) {
    return std::visit(Overloaded{[](const Gemm& g) {
                                     // fp8 products are written in 16 bits: the next kernel reads them so.
                                     const double in = size_of(g.dtype), out = g.dtype == Dtype::fp8 ? 2.0 : in;
                                     const double m = g.m, n = g.n, k = g.k;
                                     return g.batch * (in * (m * k + k * n) + out * m * n);
                                 },
                                 [](const Attention& a) {
                                     const double tokens = static_cast<double>(a.batch) * a.seq;
                                     const double q = tokens * a.heads * a.head_dim,
                                                  kv = 2.0 * tokens * a.kv_heads * a.head_dim;
                                     // forward: read Q K V, write O. backward: read Q K V O dO, write dQ dK dV.
                                     const double elements = a.backward ? 4.0 * q + 2.0 * kv : 2.0 * q + kv;
                                     return elements * size_of(a.dtype);
                                 },
                                 [](const Pointwise& p) {
                                     return static_cast<double>(p.rows) * static_cast<double>(p.cols) *
                                            traffic(p.kind).bytes_per_element(size_of(p.dtype));
                                 }},
                      kernel);
}

double intensity(const Kernel& kernel) { return flops(kernel) / bytes(kernel); }

std::string to_text(const Kernel& kernel) {
    return std::visit(Overloaded{[](const Gemm& g) {
                                     const bool forward = g.pass == GemmPass::forward;
                                     return fmt::format("gemm {} {}x{}x{}x{}{}{}", name(g.dtype), g.batch, g.m, g.n,
                                                        g.k, forward ? "" : " ", forward ? "" : name(g.pass));
                                 },
                                 [](const Attention& a) {
                                     return fmt::format("attention{} {} b{} s{} h{} kv{} d{}{}",
                                                        a.backward ? "-backward" : "", name(a.dtype), a.batch, a.seq,
                                                        a.heads, a.kv_heads, a.head_dim, a.causal ? " causal" : "");
                                 },
                                 [](const Pointwise& p) {
                                     return fmt::format("{} {} {}x{}", name(p.kind), name(p.dtype), p.rows, p.cols);
                                 }},
                      kernel);
}

}  // namespace orrery::kernels
